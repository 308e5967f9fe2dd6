// The cache in a cluster whose nodes are killed, stopped, cut off and joined: two gateways, two nodes with patients and
// caches of their own, writers and readers through both gateways. No reading may be outdated.
import { createServer, connect, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, startCluster } from "../../support/cluster.ts";
import { describeWithNats } from "../../support/describe-with-nats.ts";
import { type Caller, type History, playHistory } from "../../support/freshness.ts";
import { demoPassword, type RunningProcess } from "../../support/service.ts";
import { unique } from "../../support/tenancy.ts";
import { dice, seedOf } from "./support/seed.ts";

const rounds = Number(process.env["ROUNDS"] ?? 12);
const accounts = "audit,auth,mail,tenants,users,health";
const support = "cache,crypto,patients";

let cluster: Cluster;
let gateways: Gateway[];
let token: string;

/** A way to NATS that can be cut: what goes through it stands still, as with a pulled plug. */
class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  constructor(target: string) {
    const [host = "", port = ""] = target.split(":");
    this.#server = createServer((near) => {
      if (this.#cut) return void near.destroy();
      const far = connect(Number(port), host);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from);
        from.on("error", () => {});
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
  }

  listen(): Promise<number> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        const address = this.#server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  join(): void {
    this.#cut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

interface Node {
  relay: Relay;
  running: RunningProcess;
  settings: Record<string, string>;
}
const nodes: Node[] = [];

async function startNode(): Promise<Node> {
  const relay = new Relay(cluster.nats.address);
  const { user, pass } = cluster.nats.login;
  const settings = {
    SERVICES: support,
    NATS_URL: `nats://${user}:${pass}@127.0.0.1:${await relay.listen()}`,
  };
  return { relay, settings, running: await cluster.startServices(settings) };
}

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.startServices({ SERVICES: accounts });
  for (let n = 0; n < 2; n++) nodes.push(await startNode());
  gateways = [await cluster.startGateway(), await cluster.startGateway()];
  const body = { email: "head@demo.example", password: demoPassword, subdomain: "demo" };
  const answer = await gateways[0]?.call("POST", "/api/auth/login", { body });
  token = answer?.body.access_token;
}, 120_000);
afterAll(async () => {
  for (const { relay, running } of nodes) {
    running.child.kill("SIGCONT");
    relay.join();
  }
  await cluster?.stop();
  for (const { relay } of nodes) relay.close();
}, 60_000);

async function freshPatients(): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < 6; n++) {
    const body = { record_number: unique("R-"), full_name: "Some Body", notes: "at first" };
    const answer = await gateways[0]?.call("POST", "/api/patients", { token, body });
    ids.push(answer?.body.id);
  }
  return ids;
}

async function play(seed: number, faults: () => Promise<unknown>): Promise<History> {
  const callers = gateways.map(
    (gateway): Caller =>
      (...asked) =>
        gateway.call(...asked).catch(() => undefined),
  );
  const ending = new AbortController();
  const patientIds = await freshPatients();
  const history = playHistory({ callers, token, patientIds, readers: 6, roll: dice(seed) }, ending.signal);
  await faults();
  ending.abort();
  return history;
}

/** What may happen to a node, and its end. */
const mishaps: readonly [name: string, happen: (node: Node, ms: number) => Promise<void>][] = [
  [
    "killed and started again",
    async (node, ms) => {
      node.running.child.kill("SIGKILL");
      await node.running.exited;
      await delay(ms);
      node.running = await cluster.startServices(node.settings);
    },
  ],
  [
    "stopped and woken",
    async (node, ms) => {
      node.running.child.kill("SIGSTOP");
      await delay(ms);
      node.running.child.kill("SIGCONT");
    },
  ],
  [
    "cut off and joined",
    async (node, ms) => {
      node.relay.cut();
      await delay(ms);
      node.relay.join();
    },
  ],
  ["left in peace", async (_node, ms) => delay(ms)],
];

describeWithNats("a cluster of caches", () => {
  it("the checker sees outdated readings when the stamps are switched off by hand", async () => {
    const { owner } = cluster.database;
    await owner.query("alter table patients disable trigger stamp");
    const { violations } = await play(1, () => delay(4_000));
    await owner.query("alter table patients enable trigger stamp");
    expect(violations).toEqual(expect.arrayContaining([expect.stringMatching(/version \d+ after \d+/)]));
  });

  it("shows nothing outdated while its nodes are killed, stopped, cut off and joined", async () => {
    const seed = seedOf("cache");
    const roll = dice(seed);
    const told: string[] = [];
    const history = await play(seed, async () => {
      for (let round = 0; round < rounds; round++) {
        const [name, happen] = mishaps[roll(mishaps.length)] ?? ["nothing", async () => {}];
        const node = nodes[roll(nodes.length)];
        if (node === undefined) throw new Error("no node");
        told.push(name);
        await happen(node, 500 + roll(5_000));
        await delay(1_000 + roll(2_000));
      }
    });
    const { reads, writes, unanswered, violations } = history;
    process.stdout.write(
      `cache: ${reads} reads, ${writes} writes, ${unanswered} unanswered; ${told.join(", ")}\n`,
    );
    expect(violations).toEqual([]);
    expect(reads).toBeGreaterThan(500);
    expect(writes).toBeGreaterThan(50);
  });
});
