// Values for several concurrent reads in one answer, as many as fit on the bus. A read that gets null reads
// the database.
import { answerCharsMax, sealedCharsMax } from "./cache.contract.ts";
import type { CachedValue, CacheStore, Part } from "./cache-store.ts";

export interface RequestedKeys {
  tenant_ids: readonly number[];
  patient_ids: readonly number[];
  parts: readonly Part[];
}

/** @returns a value or null for each requested place, in the given order */
export function takeMany(store: CacheStore, requested: RequestedKeys): (CachedValue | null)[] {
  let roomChars = answerCharsMax;
  return requested.patient_ids.map((patientId, at) => {
    const [tenantId, part] = [requested.tenant_ids[at], requested.parts[at]];
    if (tenantId === undefined || part === undefined || roomChars < sealedCharsMax) return null;
    const value = store.take(tenantId, patientId, part) ?? null;
    roomChars -= value?.sealed.length ?? 0;
    return value;
  });
}
