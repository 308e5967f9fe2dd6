// The interface between the self-healing service and the detectors and remedies. They belong to the service that owns the data,
// and run with its database rights. They are reached by two actions, `<service>.find_faults` and `<service>.heal`, which only
// self-healing may call (mixins/healing/detectors.ts provides them).
import type { Done } from "../../services/shared/audit-changes.ts";
import type { ServiceBroker } from "moleculer";
import { onlyServices } from "../../services/shared/access.ts";
import type { ActionContract, Call } from "../../services/shared/bus/bus.ts";
import { Caller } from "../../services/shared/caller.ts";
import { nullable, optional } from "../../services/shared/params/modifiers.ts";
import { json, object } from "../../services/shared/params/results.ts";
import { integer, listOf, text } from "../../services/shared/params/rules.ts";
import type { ValueOf } from "../../services/shared/params/types.ts";

/** Findings of one call. There may be more; the next call finds them. */
export const findingsMax = 100;
export const targetCharsMax = 200;
/** Bound of one finding's evidence. A hundred findings then fit into one message on the bus. */
export const evidenceBytesMax = 8_000;
/** Timeout of a call to a detector or a remedy. */
export const askMsMax = 9_000;

const findingShape = object({
  /** Names the same faulty thing at every call: "tenant:7", "job:12". */
  target: text({ max: targetCharsMax }),
  tenant_id: nullable(integer()),
  /** Facts and numbers; never a secret or a patient's text. */
  evidence: json(),
  /** The dry run: what the remedy would do, in one sentence. */
  would_do: nullable(text()),
});
const lookedShape = object({
  findings: listOf(findingShape, { max: findingsMax }),
  /** How many things were checked; null where that number says nothing. */
  targets: nullable(integer()),
  /** Where the next call continues; null: from the beginning. */
  cursor: nullable(text()),
});

export type Finding = ValueOf<typeof findingShape>;
export type FindResult = ValueOf<typeof lookedShape>;

/** The call in which a detector or a remedy runs. It gives access to the service's own database, bus and settings. */
export type DetectorCall = Call<unknown>;

export interface FaultQuery {
  /** Checks only this target; absent: all, as far as one call goes. */
  target: string | undefined;
  cursor: string | undefined;
}

export interface FoundFault {
  target: string;
  tenantId: number | null;
  evidence: Record<string, unknown>;
}

export interface FoundFaults {
  found: FoundFault[];
  targets?: number;
  cursor?: string | null;
}

/** Only reads. The number of rows is bounded, and a large table is read by an index. */
export interface Detector {
  find(site: DetectorCall, question: FaultQuery): Promise<FoundFaults>;
}

/** A detector whose fault can be repaired. The remedy is idempotent, bounded in time, and changes only the given target. */
export interface Remedy extends Detector {
  /** The dry run: one sentence that says what `heal` would do. */
  wouldDo(found: FoundFault): string;
  /** @returns facts for the history of the incident */
  heal(site: DetectorCall, target: string): Promise<Done>;
}

const code = text({ max: 60 });
const target = text({ max: targetCharsMax });

export const findFaultsContract = {
  summary: "Faults of one kind, as far as one call finds them.",
  audits: "fix.look",
  refuses: { 503: ["detector_busy", "detector_late"] },
  access: onlyServices("self-healing"),
  body: { code, target: optional(target), cursor: optional(text({ max: 200 })) },
  result: lookedShape,
} as const satisfies ActionContract;

export const healContract = {
  summary: "Repairs one target.",
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

/** @param nodeID the node that must answer; absent: any node of the service answers */
export function askForFaults(
  broker: ServiceBroker,
  service: string,
  asked: Asked,
  nodeID?: string,
  timeoutMs = askMsMax,
): Promise<FindResult> {
  return broker.call(`${service}.find_faults`, asked, callOptions(timeoutMs, nodeID));
}

/** Calls the remedy of the service for one target. @throws NotFound when the service has no remedy of that code */
export function askToHeal(
  broker: ServiceBroker,
  service: string,
  asked: { code: string; target: string },
): Promise<{ done: Done }> {
  return broker.call(`${service}.heal`, asked, callOptions(askMsMax));
}

function callOptions(timeout: number, nodeID?: string) {
  const meta = { caller: Caller.system("self-healing") };
  // A retry could reach another node, whose answer would be wrong.
  return nodeID === undefined ? { meta, timeout } : { meta, timeout, nodeID, retries: 0 };
}
