// For services that can be wrong: their detectors and remedies, offered to the self-healing service as two actions of theirs.
// The types demand one for each fault that the catalogue says is looked for here, with a remedy where it names one.
import type { ServiceSchema } from "moleculer";
import { type Call, type Contract, implement } from "../../services/shared/bus/bus.ts";
import { NotFound } from "../../services/shared/errors.ts";
import type { FaultsAt, Healable } from "./catalogue.ts";
import { Bounded } from "./bounded.ts";
import {
  askMsMax,
  evidenceBytesMax,
  type Detector,
  type Found,
  findFaultsContract,
  findingsMax,
  healContract,
  type Looked,
  type Remedy,
  targetCharsMax,
} from "./port.ts";
import { nodeFacts, nodeFactsCode } from "./node-facts.ts";

export type DetectorsOf<S extends string> = {
  readonly [C in FaultsAt<S>]: C extends Healable ? Remedy : Detector;
};

interface Own {
  detectors: ReadonlyMap<string, Detector | Remedy>;
  bounded: Bounded;
}

/** Whoever asks hears that a detector did not end, before it stops waiting. */
const findMsMax = askMsMax - 1_000;

/** @param service the folder's name */
export function detectors<const S extends string>(service: S, given: DetectorsOf<S>): Partial<ServiceSchema> {
  const own: Own = {
    detectors: new Map(Object.entries<Detector | Remedy>(given)),
    bounded: new Bounded(findMsMax),
  };
  const contract: Contract = {
    [`${service}.find_faults`]: findFaultsContract,
    [`${service}.heal`]: healContract,
  };
  const handlers = {
    [`${service}.find_faults`]: (call: Asked) => findFaults(own, call),
    [`${service}.heal`]: (call: Asked<{ code: string; target: string }>) => heal(own, call),
  };
  // Names that are made at run time have one type between them, and these two differ.
  const actions = implement(contract, handlers as unknown as Parameters<typeof implement>[1]);
  return { actions };
}

/** As the contract has checked them. */
type Asked<P = { code: string; target?: string; cursor?: string }> = Call<P>;

async function findFaults(own: Own, call: Asked): Promise<Looked> {
  const { code, target, cursor } = call.params;
  if (code === nodeFactsCode) return aboutNode(call);
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

/** What is too long for the bus, and for a person to read, is left out whole: a part of it may say the opposite. */
export function withinBound(evidence: Found["evidence"]): Found["evidence"] {
  const bytes = Buffer.byteLength(JSON.stringify(evidence));
  return bytes <= evidenceBytesMax ? evidence : { left_out_bytes: bytes };
}

async function aboutNode(call: Asked): Promise<Looked> {
  const evidence = await nodeFacts(call);
  return {
    findings: [{ target: "node", tenant_id: null, evidence, would_do: null }],
    targets: null,
    cursor: null,
  };
}

const sentenceCharsMax = 1_000;

const wouldDo = (detector: Detector | Remedy, found: Found): string | null =>
  "heal" in detector ? detector.wouldDo(found).slice(0, sentenceCharsMax) : null;

async function heal(own: Own, call: Asked<{ code: string; target: string }>) {
  const { code, target } = call.params;
  const remedy = own.detectors.get(code);
  if (remedy === undefined || !("heal" in remedy)) throw new NotFound("Remedy");
  return { done: await remedy.heal(call, target) };
}
