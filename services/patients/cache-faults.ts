// Detects cached values that differ from the database although their stamp is current. Such a value would be
// returned, because reads compare only the stamp. Each detection run compares a few values of each node. A
// value with an older stamp is no fault: it is never returned.
import type { Call } from "../shared/bus/bus.ts";
import type { FoundFault, Remedy, DetectorCall } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import type { CacheKey } from "./cache-client.ts";
import { loadRecords } from "./patient-records.ts";
import { loadPatient } from "./read-patient.ts";
import { isCacheOff, openCached, type CachedContent } from "./cached-reading.ts";

const nodeMsMax = 2_000;

type Entry = Awaited<ReturnType<typeof sampled>>[number];

/** A few values of every node, or every node's values of one patient. */
async function sampled(call: Call<unknown>, patientId: number | null) {
  const parts = await call.busEach("cache.node_sample", { patient_id: patientId }, nodeMsMax);
  return parts.flat();
}

/**
 * Whether the cached content differs from the database. False when it does not open, is outdated, deleted or
 * too large.
 */
async function differs(
  call: Call<unknown>,
  { tenant_id: tenantId, patient_id: patientId, part, ...value }: Entry,
) {
  const cacheKey: CacheKey = { tenantId, patientId, part };
  const opened = await openCached<unknown>(call, cacheKey, value);
  if (opened === undefined || opened.content === null) return false;
  const now: CachedContent<unknown> | undefined =
    part === "patient" ? await loadPatient(call, cacheKey) : await loadRecords(call, cacheKey);
  if (now === undefined || now.content === null || now.stamp !== opened.stamp) return false;
  return JSON.stringify(now.content) !== JSON.stringify(opened.content);
}

/** The remedy `cache_differs`: its target is `patient:<id>`; healing invalidates the patient on all nodes. */
export const cacheDiffers: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : numberIn("patient", target);
    if (one === undefined || isCacheOff(site)) return { found: [] };
    const found = new Map<number, FoundFault>();
    for (const entry of await sampled(site, one)) {
      const { patient_id: id, tenant_id: tenantId, part } = entry;
      if (found.has(id) || !(await differs(site, entry))) continue;
      found.set(id, { target: `patient:${id}`, tenantId, evidence: { part, stamp: entry.stamp } });
    }
    return { found: [...found.values()] };
  },
  wouldDo: ({ target }) => `Would have every node forget what it remembers of ${target.replace(":", " ")}.`,
  async heal(site: DetectorCall, target) {
    const patientId = numberIn("patient", target);
    if (patientId === undefined) return { forgotten: 0 };
    const asked = { tenant_id: null, patient_id: patientId };
    const parts = await site.busEach("cache.node_invalidate", asked, nodeMsMax);
    return { forgotten: parts.reduce((sum, { invalidated }) => sum + invalidated, 0) };
  },
};
