// Values for several readers at once: as many as one answer on the bus holds. Who gets none reads the database.
import { answerCharsMax, sealedCharsMax } from "./cache.contract.ts";
import type { CachedValue, CacheStore, Part } from "./cache-store.ts";

export interface Places {
  tenant_ids: readonly number[];
  patient_ids: readonly number[];
  parts: readonly Part[];
}

/** @returns one value or null for each place, in their order */
export function takeMany(store: CacheStore, places: Places): (CachedValue | null)[] {
  let roomChars = answerCharsMax;
  return places.patient_ids.map((patientId, at) => {
    const [tenantId, part] = [places.tenant_ids[at], places.parts[at]];
    if (tenantId === undefined || part === undefined || roomChars < sealedCharsMax) return null;
    const value = store.take(tenantId, patientId, part) ?? null;
    roomChars -= value?.sealed.length ?? 0;
    return value;
  });
}
