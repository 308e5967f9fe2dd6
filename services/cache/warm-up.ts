// Loads patients into the cache of every node before they are read, in batches that fit on the bus.
import type { Call } from "../shared/bus/bus.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { nodeMsMax, administeredTenant, record } from "./administer-cache.ts";
import type { cacheContract } from "./cache.contract.ts";

type WarmUp = Call<ParamsOf<(typeof cacheContract)["cache.warmup"]>>;

/** 15 values with the longest notes stay below the 1 MB limit of the bus. */
const batchSize = 15;

/** Returns how many patients were loaded, and how many ids were unknown, foreign or given twice. */
export async function warmUp(call: WarmUp): Promise<{ warmed: number; skipped: number }> {
  const ids = call.params.patient_ids;
  if (call.runtime.config.cacheEntriesMax === 0) return { warmed: 0, skipped: ids.length };
  const different = [...new Set(ids)];
  const tenantScope = administeredTenant(call);
  let warmed = 0;
  for (let start = 0; start < different.length; start += batchSize) {
    const patient_ids = different.slice(start, start + batchSize);
    const { values } = await call.bus("patients.seal_for_cache", { ...tenantScope, patient_ids });
    if (values.length === 0) continue;
    const lists = {
      tenant_ids: values.map((value) => value.tenant_id),
      patient_ids: values.map((value) => value.patient_id),
      stamps: values.map((value) => value.stamp),
      sealed: values.map((value) => value.sealed),
    };
    await call.busEach("cache.node_warmup", lists, nodeMsMax);
    warmed += values.length;
  }
  const outcome = { warmed, skipped: ids.length - warmed };
  await record(call, "cache.warmup", outcome);
  return outcome;
}
