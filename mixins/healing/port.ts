// The port by which the self-healing service reaches detectors and remedies. They live with the service that owns what they
// look at, run with its rights, and know what nobody else needs to know. Two actions, `<service>.find_faults` and
// `<service>.heal`, which only self-healing may call (mixins/healing/detectors.ts offers them).
import type { Done } from "../../services/shared/audit-changes.ts";
import type { ServiceBroker } from "moleculer";
import { onlyServices } from "../../services/shared/access.ts";
import type { ActionContract, Call } from "../../services/shared/bus/bus.ts";
import { Caller } from "../../services/shared/caller.ts";
import { nullable, optional } from "../../services/shared/params/modifiers.ts";
import { json, object } from "../../services/shared/params/results.ts";
import { integer, listOf, text } from "../../services/shared/params/rules.ts";
import type { ValueOf } from "../../services/shared/params/types.ts";

/** Of one look at one service; there may be more, which the next look finds. */
export const findingsMax = 100;
export const targetCharsMax = 200;
/** Of one finding. A hundred of them are less than a message on the bus may be. */
export const evidenceBytesMax = 8_000;
/** Longest that a question or a remedy is waited for. */
export const askMsMax = 9_000;

const findingShape = object({
  /** What is at fault, in words that name the same thing at every look: "tenant:7", "job:12". */
  target: text({ max: targetCharsMax }),
  tenant_id: nullable(integer()),
  /** Facts and numbers; never a secret or a patient's text. */
  evidence: json(),
  /** The dry run: what the remedy would do, in one sentence. */
  would_do: nullable(text()),
});
const lookedShape = object({
  findings: listOf(findingShape, { max: findingsMax }),
  /** How many there are that could be at fault; null where that is not a number that says anything. */
  targets: nullable(integer()),
  /** Where the next look goes on; null: from the beginning. */
  cursor: nullable(text()),
});

export type Finding = ValueOf<typeof findingShape>;
export type Looked = ValueOf<typeof lookedShape>;

/** The call in which a detector or a remedy runs: the service's own database, bus and settings. */
export type Site = Call<unknown>;

export interface Question {
  /** Only whether this one is at fault; absent: what is, as far as one look goes. */
  target: string | undefined;
  cursor: string | undefined;
}

export interface Found {
  target: string;
  tenantId: number | null;
  evidence: Record<string, unknown>;
}

export interface FoundAll {
  found: Found[];
  targets?: number;
  cursor?: string | null;
}

/** Reads only, with a bound on rows, and by an index where a table can be large. */
export interface Detector {
  find(site: Site, question: Question): Promise<FoundAll>;
}

/** A detector whose fault can be mended: idempotent, bounded in time, on exactly the target that it is given. */
export interface Remedy extends Detector {
  /** One sentence; nothing is done. */
  wouldDo(found: Found): string;
  /** @returns facts for the incident's history */
  heal(site: Site, target: string): Promise<Done>;
}

const code = text({ max: 60 });
const target = text({ max: targetCharsMax });

export const findFaultsContract = {
  summary: "What is at fault of one kind, as far as one look goes.",
  audits: "fix.look",
  refuses: { 503: ["detector_busy", "detector_late"] },
  access: onlyServices("self-healing"),
  body: { code, target: optional(target), cursor: optional(text({ max: 200 })) },
  result: lookedShape,
} as const satisfies ActionContract;

export const healContract = {
  summary: "Mends one target.",
  audits: "fix.apply",
  access: onlyServices("self-healing"),
  body: { code, target },
  result: object({ done: json() }),
} as const satisfies ActionContract;

interface Asked {
  code: string;
  target?: string;
  cursor?: string;
}

/** @param nodeID that node's own answer; absent: any node of the service answers */
export function askForFaults(
  broker: ServiceBroker,
  service: string,
  asked: Asked,
  nodeID?: string,
  timeoutMs = askMsMax,
): Promise<Looked> {
  return broker.call(`${service}.find_faults`, asked, callOptions(timeoutMs, nodeID));
}

export function askToHeal(
  broker: ServiceBroker,
  service: string,
  asked: { code: string; target: string },
): Promise<{ done: Done }> {
  return broker.call(`${service}.heal`, asked, callOptions(askMsMax));
}

function callOptions(timeout: number, nodeID?: string) {
  const meta = { caller: Caller.system("self-healing") };
  // Another node's answer is no answer of this one.
  return nodeID === undefined ? { meta, timeout } : { meta, timeout, nodeID, retries: 0 };
}
