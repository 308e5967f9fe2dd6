// Patients' values, sealed, in the memory of each node that runs this service.
// Life cycle of a value: put by the patients service after a reading, taken by later ones, gone by time, by want of room,
// by invalidation, or because it was found to be outdated.
// Promises: bounds in number, bytes and time; values are sealed with their tenant's key; no operation here is needed for a
// reader to be told the truth, so a node may come, go or hang (the patients service asks the database about each value
// before it tells it).
// Does not: seal, open, load, or decide who may see a patient.
import type { ServiceSchema } from "moleculer";
import { implement } from "../shared/bus/bus.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { database } from "../../mixins/database.ts";
import { cacheContract } from "./cache.contract.ts";
import { administer, cleanup, invalidate, stats } from "./administer-cache.ts";
import { watchCache } from "./cache-figures.ts";
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
    ...administer,
  }),
};

export default patientCache;
