// Faults of nodes, provoked in a cluster: a clock that is wrong, a disk that is full by its setting, an older version that
// stays, and a node that tells others that it lives but answers no call.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { eventually } from "../support/service.ts";
import { provokedIn } from "../api/self-healing/provoked-in.ts";
import type { Incident } from "../api/self-healing/scene.ts";

/** Runs in the node before its program. */
const before = (program: string) => `--import=data:text/javascript,${encodeURIComponent(program)}`;
const longUp = "process.uptime = () => 9000;";
const sourceOf = (file: string, source: string) =>
  `import { registerHooks } from "node:module";
   registerHooks({ load: (url, context, next) => url.endsWith(${JSON.stringify(file)})
     ? { format: "module", shortCircuit: true, source: ${JSON.stringify(source)} } : next(url, context) });`;

describeWithNats("nodes", () => {
  let cluster: Cluster;
  let gateway: Gateway;
  let token: string;

  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.startServices({ NODE_OPTIONS: before(longUp) });
    gateway = await cluster.startGateway({ NODE_ID: "right", NODE_OPTIONS: before(longUp) });
    token = await signInAt(gateway, "superadmin");
  });
  afterAll(() => cluster?.stop());

  const incidents = async (code: string): Promise<Incident[]> => {
    const path = `/api/admin/self-healing/incidents?code=${code}`;
    return (await gateway.call("GET", path, { token })).body.items;
  };
  async function met(code: string, node: string, status: string): Promise<Incident> {
    return eventually(async () => {
      const found = (await incidents(code)).find(({ target }) => target === `node:${node}`);
      if (found?.status === status) return found;
      await gateway.call("POST", "/api/admin/self-healing/look", { token });
      return undefined;
    });
  }

  it("nothing is wrong with nodes that are well", async () => {
    const { status, body } = await gateway.call("POST", "/api/admin/self-healing/look", { token });
    expect([status, body.found, body.silent]).toEqual([200, 0, []]);
  });

  const cases: [string, string, Record<string, string>, object][] = [
    [
      "clocks_apart",
      "const now = Date.now; Date.now = () => now() + 12000;",
      {},
      { ahead_ms: expect.any(Number), max_ms: 2000 },
    ],
    [
      "disk_filling",
      "",
      { DISK_USED_MAX_PERCENT: "1" },
      { used_percent: expect.any(Number), max_percent: 1 },
    ],
    [
      "nodes_of_two_versions",
      sourceOf("/shared/version.ts", 'export const version = "0.0.1";'),
      {},
      { version: "0.0.1" },
    ],
    [
      "node_silent",
      sourceOf(
        "/healing/node-facts.ts",
        'export const nodeFactsCode = "node_facts"; export const nodeFacts = () => new Promise(() => {});',
      ),
      {},
      { service: "api-gateway", tries: 2 },
    ],
  ];

  it("every fault of nodes is provoked here", () => {
    expect(cases.map(([code]) => code).sort()).toEqual(provokedIn("nodes"));
  });

  it.each(cases)("%s is told, and ends with the node", async (code, program, settings, evidence) => {
    const node = code.replaceAll("_", "-");
    const wrong = await cluster.startGateway({
      NODE_ID: node,
      NODE_OPTIONS: before(`${program}\n${longUp}`),
      ...settings,
    });
    expect(await met(code, node, "open")).toMatchObject({ evidence, would_do: null, tries: 0 });
    expect((await incidents(code)).map(({ target }) => target)).toEqual([`node:${node}`]);
    await wrong.process.stop();
    await met(code, node, "ended");
  });
});
