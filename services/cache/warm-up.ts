// Loading patients ahead of their readers, in portions that fit on the bus, onto every node.
import type { Call } from "../shared/bus/bus.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { nodeMsMax, reachedTenant, record } from "./administer-cache.ts";
import type { cacheContract } from "./cache.contract.ts";

type WarmUp = Call<ParamsOf<(typeof cacheContract)["cache.warmup"]>>;

/** 15 of the longest notes still make less than the bus's 1 MB. */
const portion = 15;

export async function warmUp(call: WarmUp): Promise<{ warmed: number; skipped: number }> {
  const ids = call.params.patient_ids;
  if (call.runtime.config.cacheEntriesMax === 0) return { warmed: 0, skipped: ids.length };
  const different = [...new Set(ids)];
  const reached = reachedTenant(call);
  let warmed = 0;
  for (let start = 0; start < different.length; start += portion) {
    const patient_ids = different.slice(start, start + portion);
    const { values } = await call.bus("patients.seal_for_cache", { ...reached, patient_ids });
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
