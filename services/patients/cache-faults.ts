// A remembered value that says another thing than the database under the very stamp of now: it would be told, as readers ask
// for the stamp alone. A few values of each node are compared at each look. One with an older stamp is no fault: nobody is told
// it.
import type { Call } from "../shared/bus/bus.ts";
import type { FoundFault, Remedy, DetectorCall } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import type { Place } from "./cache-client.ts";
import { loadRecords } from "./patient-records.ts";
import { loadPatient } from "./read-patient.ts";
import { isCacheOff, openRemembered, type Remembered } from "./cached-reading.ts";

const nodeMsMax = 2_000;

type Entry = Awaited<ReturnType<typeof sampled>>[number];

/** Of every node, or what each has of one patient. */
async function sampled(call: Call<unknown>, patientId: number | null) {
  const parts = await call.busEach("cache.node_sample", { patient_id: patientId }, nodeMsMax);
  return parts.flat();
}

/** @returns whether it says another thing; false also where it does not open, or is outdated, gone or too much */
async function differs(
  call: Call<unknown>,
  { tenant_id: tenantId, patient_id: patientId, part, ...value }: Entry,
) {
  const place: Place = { tenantId, patientId, part };
  const opened = await openRemembered<unknown>(call, place, value);
  if (opened === undefined || opened.content === null) return false;
  const now: Remembered<unknown> | undefined =
    part === "patient" ? await loadPatient(call, place) : await loadRecords(call, place);
  if (now === undefined || now.content === null || now.stamp !== opened.stamp) return false;
  return JSON.stringify(now.content) !== JSON.stringify(opened.content);
}

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
