// `npm run mutants`: plants each fault of the list by itself in a copy of this checkout, runs the tests that must fail with
// it, and says which were noticed. `-- --sample 10 --seed 4` takes ten of them, the same for the same seed; words take
// those whose file or sentence holds one of them. Ends with 1 when a fault was not noticed, or its text is gone.
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { copyCheckout } from "../checkout.ts";
import { plantedFaults } from "./faults.ts";
import { type Outcome, plant, runTests } from "./plant.ts";
import type { PlantedFault } from "./planted-fault.ts";
import { sampleOf } from "./sample.ts";

const besideTheProgram = ["test", "docs", "k8s", "README.md", "ARCHITECTURE.md", "jest.config.js"];
const say = (line: string) => void process.stdout.write(`${line}\n`);

const { values, positionals } = parseArgs({
  options: { sample: { type: "string" }, seed: { type: "string" } },
  allowPositionals: true,
});
const wanted = plantedFaults.filter(
  ({ file, says }) =>
    positionals.length === 0 || positionals.some((word) => `${file} ${says}`.includes(word)),
);
const seed = wholeNumber("seed", values.seed ?? String(Math.floor(Math.random() * 1_000_000)));
const size = values.sample === undefined ? wanted.length : wholeNumber("sample", values.sample);
const faults = sampleOf(wanted, size, seed);
if (faults.length === 0) refuse("No planted fault has such a word.");
say(
  `${faults.length} of ${plantedFaults.length} planted faults${size < wanted.length ? `, seed ${seed}` : ""}`,
);

const folder = await realpath(await mkdtemp(join(tmpdir(), "records-mutants-")));
const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
try {
  const copy = join(folder, "checkout");
  await copyCheckout(copy, besideTheProgram);
  await assertSound(copy);
  const outcomes = new Map<PlantedFault, Outcome>();
  for (const fault of faults) {
    if (ending.signal.aborted) break;
    const startedAt = performance.now();
    const outcome = await plant(copy, fault, ending.signal);
    outcomes.set(fault, outcome);
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    say(`${outcome.padEnd(11)} ${String(seconds).padStart(4)} s  ${fault.file}: ${fault.says}`);
  }
  const noticed = [...outcomes.values()].filter((outcome) => outcome === "noticed").length;
  say(`${noticed} of ${outcomes.size} noticed`);
  process.exitCode = noticed === faults.length ? 0 : 1;
} catch (error) {
  if (!ending.signal.aborted)
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = ending.signal.aborted ? 130 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** A test that fails without a fault notices nothing, and neither does one that is not there. */
async function assertSound(copy: string): Promise<void> {
  let passed = 0;
  const byFile = Map.groupBy(
    faults.flatMap(({ tests }) => Object.entries(tests)),
    ([file]) => file,
  );
  for (const [file, named] of byFile) {
    const tests = new Map([[file, named.map(([, title]) => title)]]);
    const first = await runTests(copy, tests, ending.signal);
    // Once more, should the machine have been too busy.
    const { failed, ran } = first.failed.size === 0 ? first : await runTests(copy, tests, ending.signal);
    const titles = failed.get(file) ?? [];
    if (titles.length > 0) fail(`Without any fault ${file} fails: ${titles.join("; ")}`);
    const all = ran.get(file) ?? [];
    for (const [, title] of named)
      if (!all.some((each) => each.includes(title))) fail(`${file} has no test "${title}".`);
    passed += all.length;
  }
  say(`${passed} tests pass without a fault\n`);
}

function wholeNumber(name: string, given: string): number {
  const number = Number(given);
  if (!Number.isSafeInteger(number) || number < 0) refuse(`--${name} is a whole number, not ${given}`);
  return number;
}

/** Before anything is begun. */
function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function fail(sentence: string): never {
  throw new Error(sentence);
}
