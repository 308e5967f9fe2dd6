// Detectors of the nodes' state, which each node reports about itself: clocks that differ, mixed versions,
// full disks, and nodes that send heartbeats but answer no call. A person has to act, because the service
// does not decide what runs where.
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
/** Signed calls are refused at a difference of 30 s; logs and expiry times are wrong long before. */
const apartMsMax = 2_000;
/** A rolling upgrade is finished when the youngest node has been up for this long. */
const mixedSeconds = 3_600;

interface Node {
  id: string;
  service: string;
}

/** A node's answer. */
interface NodeAnswer {
  node: Node;
  /** Undefined when it did not answer. */
  facts: NodeFacts | undefined;
  /** When it was called and when it had answered, by this node's clock. */
  askedAt: number;
  answeredAt: number;
}

const detectorServices = new Set<string>(["api-gateway", ...catalogue.flatMap(({ at }) => at)]);

function nodesOf(broker: ServiceBroker): Node[] {
  return knownNodes(broker)
    .slice(0, nodesMax)
    .flatMap(({ id, services }) => {
      const service = services.find((name) => detectorServices.has(name));
      return service === undefined ? [] : [{ id, service }];
    });
}

async function ask(broker: ServiceBroker, node: Node): Promise<NodeAnswer> {
  const askedAt = performance.now();
  const answer = await askForFaults(broker, node.service, { code: nodeFactsCode }, node.id, askMs).catch(
    () => undefined,
  );
  // Created by nodeFacts() of this or another version of the program; facts that are missing there are not
  // compared.
  const facts = answer?.findings[0]?.evidence as NodeFacts | undefined;
  return { node, facts, askedAt, answeredAt: performance.now() };
}

async function askAllNodes({ broker }: DetectorCall): Promise<NodeAnswer[]> {
  const answers = await Promise.all(nodesOf(broker).map((node) => ask(broker, node)));
  // A node that was just starting, stopping or busy answers at the second call, or has disappeared.
  const present = new Set(nodesOf(broker).map(({ id }) => id));
  const unanswered = answers.filter(({ facts, node }) => facts === undefined && present.has(node.id));
  const second = await Promise.all(unanswered.map(({ node }) => ask(broker, node)));
  return [...answers.filter(({ facts }) => facts !== undefined), ...second];
}

/** @param judge returns evidence if the node is at fault */
function ofNodes(
  judge: (
    answer: NodeAnswer,
    all: readonly NodeAnswer[],
    site: DetectorCall,
  ) => Promise<FoundFault["evidence"] | undefined>,
): Detector {
  return {
    async find(site, { target }) {
      const all = await askAllNodes(site);
      const found: FoundFault[] = [];
      for (const answer of all) {
        const named = `node:${answer.node.id}`;
        if (target !== undefined && target !== named) continue;
        const evidence = await judge(answer, all, site);
        if (evidence !== undefined) found.push({ target: named, tenantId: null, evidence });
      }
      return { found, targets: all.length };
    },
  };
}

/** The detector `node_silent`. */
export const nodeSilent = ofNodes(async ({ node, facts }) =>
  facts === undefined ? { service: node.service, waited_ms: askMs, tries: 2 } : undefined,
);

/**
 * The detector `clocks_apart`. The reference is the database's clock. The travel time of the messages is
 * subtracted.
 */
export const clocksApart = ofNodes(async ({ facts, askedAt, answeredAt }, _all, { db }) => {
  if (facts === undefined) return undefined;
  const before = performance.now();
  const databases = await databaseMs(db);
  const after = performance.now();
  // What the database's clock showed when the node told its own.
  const then = databases + (askedAt + answeredAt) / 2 - (before + after) / 2;
  const ahead = facts.clock_ms - then;
  const uncertain = (answeredAt - askedAt + after - before) / 2;
  if (Math.abs(ahead) - uncertain < apartMsMax) return undefined;
  return { ahead_ms: Math.round(ahead), uncertain_ms: Math.round(uncertain), max_ms: apartMsMax };
});

/** The detector `nodes_of_two_versions`. It reports the nodes with the older versions. */
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

/** The detector `disk_filling`. */
export const diskFilling = ofNodes(async ({ facts }) => {
  if (facts?.disk_used_percent == null || facts.disk_used_percent <= facts.disk_max_percent) return undefined;
  return { used_percent: facts.disk_used_percent, max_percent: facts.disk_max_percent };
});
