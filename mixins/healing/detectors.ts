// The mixin for services with detectors and remedies. It offers them to the self-healing service as two actions. The types
// require a detector for each fault that the catalogue assigns to the service, and a remedy if the catalogue names one.
import type { ServiceSchema } from "moleculer";
import { type Call, type Contract, implement } from "../../services/shared/bus/bus.ts";
import { NotFound } from "../../services/shared/errors.ts";
import type { FaultsAt, Healable } from "./catalogue.ts";
import { RunLimiter } from "./run-limiter.ts";
import {
  askMsMax,
  evidenceBytesMax,
  type Detector,
  type FoundFault,
  findFaultsContract,
  findingsMax,
  healContract,
  type FindResult,
  type Remedy,
  targetCharsMax,
} from "./port.ts";
import { nodeFacts, nodeFactsCode } from "./node-facts.ts";

export type DetectorsOf<S extends string> = {
  readonly [C in FaultsAt<S>]: C extends Healable ? Remedy : Detector;
};

interface Own {
  detectors: ReadonlyMap<string, Detector | Remedy>;
  bounded: RunLimiter;
}

/** Less than the caller's timeout: the caller gets the error that a detector did not end, instead of a timeout. */
const findMsMax = askMsMax - 1_000;

/** @param service the name of the service's folder */
export function detectors<const S extends string>(service: S, given: DetectorsOf<S>): Partial<ServiceSchema> {
  const own: Own = {
    detectors: new Map(Object.entries<Detector | Remedy>(given)),
    bounded: new RunLimiter(findMsMax),
  };
  const contract: Contract = {
    [`${service}.find_faults`]: findFaultsContract,
    [`${service}.heal`]: healContract,
  };
  const handlers = {
    [`${service}.find_faults`]: (call: Asked) => findFaults(own, call),
    [`${service}.heal`]: (call: Asked<{ code: string; target: string }>) => heal(own, call),
  };
  // Keys computed at run time share one type, but these two handlers have different types.
  const actions = implement(contract, handlers as unknown as Parameters<typeof implement>[1]);
  return { actions };
}

/** The parameters, checked by the contract. */
type Asked<P = { code: string; target?: string; cursor?: string }> = Call<P>;

async function findFaults(own: Own, call: Asked): Promise<FindResult> {
  const { code, target, cursor } = call.params;
  if (code === nodeFactsCode) return nodeFinding(call);
  const detector = own.detectors.get(code);
  if (detector === undefined) throw new NotFound("Fault");
  const find = () => detector.find(call, { target, cursor });
  const { found, targets = null, cursor: next = null } = await own.bounded.run(code, find);
  const findings = found
    .filter((each) => each.target.length <= targetCharsMax)
    .slice(0, findingsMax)
    .map((each) => ({
      target: each.target,
      tenant_id: each.tenantId,
      evidence: withinBound(each.evidence),
      would_do: wouldDo(detector, each),
    }));
  return { findings, targets, cursor: next };
}

/** Evidence that is too long for the bus, and for a person to read, is left out as a whole: a part of it could mislead. */
export function withinBound(evidence: FoundFault["evidence"]): FoundFault["evidence"] {
  const bytes = Buffer.byteLength(JSON.stringify(evidence));
  return bytes <= evidenceBytesMax ? evidence : { left_out_bytes: bytes };
}

async function nodeFinding(call: Asked): Promise<FindResult> {
  const evidence = await nodeFacts(call);
  return {
    findings: [{ target: "node", tenant_id: null, evidence, would_do: null }],
    targets: null,
    cursor: null,
  };
}

const sentenceCharsMax = 1_000;

const wouldDo = (detector: Detector | Remedy, found: FoundFault): string | null =>
  "heal" in detector ? detector.wouldDo(found).slice(0, sentenceCharsMax) : null;

async function heal(own: Own, call: Asked<{ code: string; target: string }>) {
  const { code, target } = call.params;
  const remedy = own.detectors.get(code);
  if (remedy === undefined || !("heal" in remedy)) throw new NotFound("Remedy");
  return { done: await remedy.heal(call, target) };
}
