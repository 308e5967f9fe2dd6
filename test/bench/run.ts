// `npm run bench`: how fast the service is, each figure beside what it must reach. `npm run bench -- me list` runs
// parts, `--quick` shortens the rounds, `--smallest` only shows that each part still runs. Starts everything it needs on loopback and stops it again, also on Ctrl-C.
import { cpus, totalmem } from "node:os";
import { takeCores } from "./cores.ts";
import { list, me } from "./parts/against-bare.ts";
import { backups } from "./parts/backups.ts";
import { cache } from "./parts/cache.ts";
import { cluster } from "./parts/cluster.ts";
import { hundred, million } from "./parts/growth.ts";
import { healing } from "./parts/healing.ts";
import { latency } from "./parts/latency.ts";
import { memory } from "./parts/memory.ts";
import { patients } from "./parts/patients.ts";
import { payments } from "./parts/payments.ts";
import { policies } from "./parts/policies.ts";
import { rotation } from "./parts/rotation.ts";
import { rotationPace } from "./parts/rotation-pace.ts";
import { sealing } from "./parts/sealing.ts";
import { signIn } from "./parts/sign-in.ts";
import { startUp } from "./parts/start-up.ts";
import { telemetry } from "./parts/telemetry.ts";
import { webhooks } from "./parts/webhooks.ts";
import { dropVerdicts, say, summary } from "./report.ts";
import { type Size, Stage } from "./stage.ts";

const parts: Record<string, (stage: Stage) => Promise<void>> = {
  "start-up": startUp,
  memory,
  me,
  list,
  "sign-in": signIn,
  latency,
  policies,
  telemetry,
  cluster,
  payments,
  sealing,
  patients,
  cache,
  rotation,
  "rotation-pace": rotationPace,
  webhooks,
  backups,
  healing,
  hundred,
  million,
};

const words = process.argv.slice(2);
const size: Size = words.includes("--smallest") ? "smallest" : words.includes("--quick") ? "quick" : "full";
const wanted = words.filter((word) => !word.startsWith("--"));
const unknown = wanted.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  process.stderr.write(`No such part: ${unknown.join(", ")}. There are ${Object.keys(parts).join(", ")}.\n`);
  process.exit(2);
}

const cores = takeCores(size !== "smallest");
const opening = Stage.open(cores, size);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    const closed = opening.then((opened) => opened.close());
    void closed.catch(() => undefined).then(() => process.exit(130));
  });
}
const stage = await opening;
try {
  const startedAt = performance.now();
  say(
    `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, PostgreSQL 18`,
  );
  if (size === "smallest") {
    dropVerdicts();
    say("The smallest form: it shows that each part runs; its figures say nothing.");
  }
  say(`${cores.description}; load by ${stage.load.generator}; medians of ${stage.rounds} rounds in turn`);
  for (const [name, run] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    await stage.settle();
    const beganAt = performance.now();
    await run(stage);
    say(`(${((performance.now() - beganAt) / 1000).toFixed(0)} s)`);
  }
  const missed = summary();
  say(
    `${missed === 0 ? "None" : missed} missed; ${Math.round((performance.now() - startedAt) / 1000)} s in all.`,
  );
} finally {
  await stage.close();
}
