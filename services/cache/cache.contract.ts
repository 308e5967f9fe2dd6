// Actions of the cache: storing and reading for the patients service, statistics and maintenance for
// administrators.
import { allow, onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { decimal, object } from "../shared/params/results.ts";
import { flag, id, integer, listOf, oneOf, text } from "../shared/params/rules.ts";

/** Bound of one value. */
export const sealedCharsMax = 400_000;
/** Bound of one answer, because a message on the bus is limited to 1 MB. */
export const answerCharsMax = 900_000;
const warmedMax = 1_000;
const takenMax = 100;
/** Bound of one sample. */
export const sampledMax = 10;

const count = integer();
const parts = ["patient", "records"] as const;
const cacheKey = { tenant_id: id(), patient_id: id(), part: oneOf(parts) };
const value = { stamp: text({ max: 36 }), sealed: text({ max: sealedCharsMax }) };
const counts = { entries: count, expired: count, bytes: count, hits: count, misses: count };
const cleaned = { removed: count, remaining: count, bytes_freed: count };
const tenantScope = { tenant_id: nullable(id()) };
const administrators = allow("superadmin", "admin");
const ofPatients = onlyServices("patients");
const ofNodes = onlyServices("cache");

export const cacheContract = {
  "cache.take": {
    summary: "Sealed values of patients, as far as this node has them and one answer holds them.",
    audits: "cache.take",
    access: ofPatients,
    repeatable: true,
    // Three lists of equal length: the values at one index describe one request.
    body: {
      tenant_ids: listOf(id(), { max: takenMax }),
      patient_ids: listOf(id(), { max: takenMax }),
      parts: listOf(oneOf(parts), { max: takenMax }),
    },
    result: listOf(nullable(object(value))),
  },
  "cache.put": {
    summary: "Keeps a sealed value of a patient on this node.",
    audits: "cache.put",
    access: ofPatients,
    body: { ...cacheKey, ...value },
  },
  "cache.drop": {
    summary: "Forgets a value that turned out to be of no use.",
    audits: "cache.drop",
    access: ofPatients,
    body: { ...cacheKey, stamp: text({ max: 36 }), counted: flag({ description: "It was taken, as a hit" }) },
  },
  "cache.stats": {
    summary:
      "What the cache holds and how it does, summed over its nodes; a tenant's administrator sees the tenant's part.",
    audits: "cache.stats",
    access: administrators,
    repeatable: true,
    weight: weights.survey,
    result: object(
      { ...counts, hit_rate: decimal(), evictions: count, nodes: count },
      { name: "CacheStats" },
    ),
  },
  "cache.cleanup": {
    summary: "Removes what has expired.",
    audits: "cache.cleanup",
    access: administrators,
    weight: weights.survey,
    result: object(cleaned, { name: "CacheCleanup" }),
  },
  "cache.invalidate": {
    summary:
      "Removes one patient's values, or all that the caller reaches: exactly one of `patient_id` and `all`.",
    audits: "cache.invalidate",
    access: administrators,
    weight: weights.survey,
    example: { all: true },
    body: { patient_id: optional(nullable(id())), all: optional(nullable(flag())) },
    result: object({ invalidated: count }, { name: "CacheInvalidation" }),
  },
  "cache.warmup": {
    summary:
      "Loads patients into the cache ahead of their first reading; unknown and foreign ids are skipped.",
    audits: "cache.warmup",
    access: administrators,
    weight: weights.bulk,
    example: { patient_ids: [1, 2, 3] },
    body: { patient_ids: listOf(id(), { max: warmedMax }) },
    result: object({ warmed: count, skipped: count }, { name: "CacheWarmup" }),
  },
  "cache.node_stats": {
    summary: "One node's part of the stats.",
    audits: "cache.stats",
    access: ofNodes,
    body: tenantScope,
    result: object({ ...counts, evictions: count }),
  },
  "cache.node_cleanup": {
    summary: "One node's part of the cleanup.",
    audits: "cache.cleanup",
    access: ofNodes,
    body: tenantScope,
    result: object(cleaned),
  },
  "cache.node_invalidate": {
    summary: "One node's part of an invalidation.",
    audits: "cache.invalidate",
    // The patients service calls it when it has found a wrong value.
    access: onlyServices("cache", "patients"),
    body: { ...tenantScope, patient_id: nullable(id()) },
    result: object({ invalidated: count }),
  },
  "cache.node_sample": {
    summary: "A few of one node's values, or those of one patient, to be compared with the database.",
    audits: "cache.take",
    access: ofPatients,
    body: { patient_id: nullable(id()) },
    result: listOf(object({ ...cacheKey, ...value })),
  },
  "cache.node_warmup": {
    summary: "One node's part of a warm-up.",
    audits: "cache.warmup",
    access: ofNodes,
    // Four lists of equal length: the values at one index describe one entry.
    body: {
      tenant_ids: listOf(id(), { max: warmedMax }),
      patient_ids: listOf(id(), { max: warmedMax }),
      stamps: listOf(text({ max: 36 }), { max: warmedMax }),
      sealed: listOf(text({ max: sealedCharsMax }), { max: warmedMax }),
    },
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof cacheContract> {}
}
