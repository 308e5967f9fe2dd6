// The patient cache: sealed values in the memory of each node that runs this service.
// Life cycle of a value: stored by the patients service after a read, returned to later reads, removed when
// it expires, is evicted, is invalidated or is found to be outdated.
// Promises: number, bytes and lifetime are bounded; values are sealed with their tenant's key. Correct reads
// do not depend on this service: the patients service compares each value with the database before it returns
// it, so a node may start, stop or hang at any time.
// Does not seal, open or load values, and does not decide who may see a patient.
import type { ServiceSchema } from "moleculer";
import { implement } from "../shared/bus/bus.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { database } from "../../mixins/database.ts";
import { cacheContract } from "./cache.contract.ts";
import { nodeHandlers, cleanup, invalidate, stats } from "./administer-cache.ts";
import { watchCache } from "./cache-metrics.ts";
import { storeOf } from "./store-of.ts";
import { takeMany } from "./take-many.ts";
import { warmUp } from "./warm-up.ts";

const patientCache: ServiceSchema = {
  name: "cache",
  mixins: [database(), serviceMetrics((runtime) => watchCache(runtime, storeOf(runtime)))],
  actions: implement(cacheContract, {
    "cache.take": async ({ runtime, params }) => takeMany(storeOf(runtime), params),
    "cache.put": async ({ runtime, params: { tenant_id, patient_id, part, ...value } }) =>
      storeOf(runtime).put(tenant_id, patient_id, part, value),
    "cache.drop": async ({ runtime, params: { tenant_id, patient_id, part, stamp, counted } }) =>
      storeOf(runtime).drop(tenant_id, patient_id, part, stamp, counted),
    "cache.stats": stats,
    "cache.cleanup": cleanup,
    "cache.invalidate": invalidate,
    "cache.warmup": warmUp,
    ...nodeHandlers,
  }),
};

export default patientCache;
