// What the crash of a process costs while requests come at a steady rate: each kind of process runs twice, and one of the
// two is killed (SIGKILL) or stands still (SIGSTOP). `npm run test:cluster` does it to every kind and prints the table;
// `npm test` does the first two.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { MarkdownRows } from "../support/markdown-rows.ts";
import type { RunningProcess } from "../support/service.ts";
import { forgetCounts, loadScene, SteadyLoad, type Stretch } from "../support/steady-load.ts";

const kinds = {
  accounts: "auth,tenants,users",
  crypto: "crypto",
  support: "audit,cache,health,mail,patients,payments,self-healing",
  outbound: "messenger,webhooks",
} as const;
type Kind = keyof typeof kinds;
type Fault = readonly [signal: "SIGKILL" | "SIGSTOP", kind: Kind | "gateway"];

const isAll = process.env["CRASH_FAULTS"] === "all";
const every: readonly (Kind | "gateway")[] = ["accounts", "crypto", "support", "outbound", "gateway"];
const faults: readonly Fault[] = isAll
  ? every.flatMap((kind): Fault[] => [
      ["SIGKILL", kind],
      ["SIGSTOP", kind],
    ])
  : [
      ["SIGKILL", "accounts"],
      ["SIGSTOP", "accounts"],
    ];
/** Nine processes with a database, for a moment: together below PostgreSQL's max_connections (100). */
const poolMax = { DATABASE_POOL_MAX: "6" };
const perSecond = Number(process.env["CRASH_RATE"] ?? (isAll ? 200 : 100));
const stretchMs = 2_000;
/** CI may be busy with other tests: there it is enough that nobody waits for heartbeats. */
const waitMsMax = isAll ? 2_000 : 5_000;

/** How the dead process is found. */
const found = isAll ? /Nobody listens for the node/ : /Nobody listens for the node|does not answer/;

let cluster: Cluster;
let gateway: Gateway;
let scene: Awaited<ReturnType<typeof loadScene>>;
const running = new Map<Kind | "gateway", RunningProcess>();
const rows = new MarkdownRows();

/** The one of the two that faults happen to; the other one is never touched. */
async function startVictim(kind: Kind | "gateway"): Promise<void> {
  const victim =
    kind === "gateway"
      ? (await cluster.startGateway()).process
      : await cluster.startServices({ SERVICES: kinds[kind], ...poolMax });
  running.set(kind, victim);
}

function remember(fault: string, stretch: Stretch, after: Stretch): void {
  const share = `${((100 * stretch.failed) / stretch.sent).toFixed(2)} %`;
  const right = after.failed === 0 ? "yes" : `${after.failed} of ${after.sent} failed`;
  rows.add({
    fault,
    sent: stretch.sent,
    failed: stretch.failed,
    share,
    "longest wait (ms)": stretch.longestMs,
    "right afterwards": right,
  });
}

/** At most one of a hundred failed, and none waited for long; what else there was is told. */
function expectCheap({ sent, failed, longestMs, slowest, failures }: Stretch): void {
  const isCheap = failed <= Math.ceil(sent / 100) && longestMs < waitMsMax;
  expect(isCheap ? "cheap" : { sent, failed, longestMs, slowest, failures }).toBe("cheap");
}

describeWithNats("a crash under load", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    const names: Kind[] = isAll ? ["accounts", "crypto", "support", "outbound"] : ["accounts"];
    const rest = Object.entries(kinds).filter(([kind]) => !isAll && kind !== "accounts");
    await Promise.all([
      ...names.flatMap((kind) => [
        startVictim(kind),
        cluster.startServices({ SERVICES: kinds[kind], ...poolMax }),
      ]),
      ...(rest.length === 0
        ? []
        : [cluster.startServices({ SERVICES: rest.map(([, services]) => services).join(",") })]),
    ]);
    gateway = await cluster.startGateway();
    if (isAll) await startVictim("gateway");
    scene = await loadScene((...asked) => gateway.call(...asked), cluster.database);
  });
  afterAll(async () => {
    for (const { child } of running.values()) child.kill("SIGCONT");
    await cluster?.stop();
  });

  describe.each(faults)("%s of one of two %s processes", (signal, kind) => {
    it("costs next to nothing, and loses or doubles no write", async () => {
      await forgetCounts(cluster.database);
      const load = new SteadyLoad({ url: gateway.url, perSecond, ...scene });
      try {
        await load.warm();
        const victim = running.get(kind);
        const faultAt = performance.now();
        victim?.child.kill(signal);
        const first = await load.stretch(faultAt, faultAt + stretchMs);
        const afterAt = Math.max(performance.now(), faultAt + stretchMs);
        const after = await load.stretch(afterAt, afterAt + stretchMs);
        if (signal === "SIGKILL") {
          remember(`${signal} ${kind}`, first, after);
          expectCheap(first);
          // Nobody waits for a heartbeat that does not come: NATS has told, or (busy) it had been silent for a while before.
          if (kind !== "gateway") expect(gateway.process.output()).toMatch(found);
        } else remember(`${signal} ${kind}, the first 2 s`, first, after);
        expectCheap(after);
      } finally {
        if (signal === "SIGSTOP") running.get(kind)?.child.kill("SIGCONT");
        else await startVictim(kind);
        try {
          await load.warm();
        } finally {
          await load.stop();
        }
      }
      expect(await load.judgeNotes()).toEqual({ missing: [], doubled: 0 });
    });
  });
});
