// The nodes of the installation, each asked for what it says of itself: clocks that are apart, versions that are mixed, disks
// that fill up, and nodes that tell others that they live but answer no call. A person acts: what runs where is not the
// service's to decide.
import type { ServiceBroker } from "moleculer";
import { knownNodes } from "../shared/bus/nodes.ts";
import { databaseMs } from "../shared/database/clock.ts";
import { catalogue } from "../../mixins/healing/catalogue.ts";
import { type NodeFacts, nodeFactsCode } from "../../mixins/healing/node-facts.ts";
import {
  askForFaults,
  type Detector,
  type FoundFault,
  type DetectorCall,
} from "../../mixins/healing/port.ts";

const nodesMax = 200;
const askMs = 3_000;
/** A signed call is good for 30 s of difference; long before that logs and expiries are wrong. */
const apartMsMax = 2_000;
/** A rolling upgrade is over by then: the youngest node has been up for so long. */
const mixedSeconds = 3_600;

interface Node {
  id: string;
  service: string;
}

interface Heard {
  node: Node;
  /** undefined: it did not answer. */
  facts: NodeFacts | undefined;
  /** When it was asked, and when it had answered, of performance.now(): this node's clock may be set meanwhile. */
  askedAt: number;
  heardAt: number;
}

const asking = new Set<string>(["api-gateway", ...catalogue.flatMap(({ at }) => at)]);

function nodesOf(broker: ServiceBroker): Node[] {
  return knownNodes(broker)
    .slice(0, nodesMax)
    .flatMap(({ id, services }) => {
      const service = services.find((name) => asking.has(name));
      return service === undefined ? [] : [{ id, service }];
    });
}

async function ask(broker: ServiceBroker, node: Node): Promise<Heard> {
  const askedAt = performance.now();
  const answer = await askForFaults(broker, node.service, { code: nodeFactsCode }, node.id, askMs).catch(
    () => undefined,
  );
  // Made by nodeFacts() of the same program, or of another version of it: what is missing there compares as nothing.
  const facts = answer?.findings[0]?.evidence as NodeFacts | undefined;
  return { node, facts, askedAt, heardAt: performance.now() };
}

async function hearAll({ broker }: DetectorCall): Promise<Heard[]> {
  const heard = await Promise.all(nodesOf(broker).map((node) => ask(broker, node)));
  // Whoever was just starting, stopping or busy answers the second time, or is not there any more.
  const still = new Set(nodesOf(broker).map(({ id }) => id));
  const again = heard.filter(({ facts, node }) => facts === undefined && still.has(node.id));
  const second = await Promise.all(again.map(({ node }) => ask(broker, node)));
  return [...heard.filter(({ facts }) => facts !== undefined), ...second];
}

/** @param judge evidence where the node is at fault */
function ofNodes(
  judge: (
    heard: Heard,
    all: readonly Heard[],
    site: DetectorCall,
  ) => Promise<FoundFault["evidence"] | undefined>,
): Detector {
  return {
    async find(site, { target }) {
      const all = await hearAll(site);
      const found: FoundFault[] = [];
      for (const heard of all) {
        const named = `node:${heard.node.id}`;
        if (target !== undefined && target !== named) continue;
        const evidence = await judge(heard, all, site);
        if (evidence !== undefined) found.push({ target: named, tenantId: null, evidence });
      }
      return { found, targets: all.length };
    },
  };
}

export const nodeSilent = ofNodes(async ({ node, facts }) =>
  facts === undefined ? { service: node.service, waited_ms: askMs, tries: 2 } : undefined,
);

/** By the database's clock, which is one for all; what the ways take is not counted. */
export const clocksApart = ofNodes(async ({ facts, askedAt, heardAt }, _all, { db }) => {
  if (facts === undefined) return undefined;
  const before = performance.now();
  const databases = await databaseMs(db);
  const after = performance.now();
  // What the database's clock showed when the node told its own.
  const then = databases + (askedAt + heardAt) / 2 - (before + after) / 2;
  const ahead = facts.clock_ms - then;
  const uncertain = (heardAt - askedAt + after - before) / 2;
  if (Math.abs(ahead) - uncertain < apartMsMax) return undefined;
  return { ahead_ms: Math.round(ahead), uncertain_ms: Math.round(uncertain), max_ms: apartMsMax };
});

/** The nodes of the older versions are told. */
export const nodesOfTwoVersions = ofNodes(async ({ facts }, all) => {
  const known = all.flatMap((each) => (each.facts === undefined ? [] : [each.facts]));
  const newest = known
    .map(({ version }) => version)
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .at(-1);
  const settled = known.every(({ uptime_s: uptime }) => uptime > mixedSeconds);
  if (facts === undefined || newest === undefined || !settled || facts.version === newest) return undefined;
  return { version: facts.version, newest, up_for_seconds: facts.uptime_s };
});

export const diskFilling = ofNodes(async ({ facts }) => {
  if (facts?.disk_used_percent == null || facts.disk_used_percent <= facts.disk_max_percent) return undefined;
  return { used_percent: facts.disk_used_percent, max_percent: facts.disk_max_percent };
});
