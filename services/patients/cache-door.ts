// The way to the cache service. The cache only saves work: whatever is wrong with it (absent, slow, hung), a reader goes
// on without it, and after a failure it is left alone for a while, so that it costs one short wait and not one for each.
import type { Call } from "../shared/bus.ts";
import type { Config } from "../shared/settings/settings.ts";

export type Part = "patient" | "records";

export interface Place {
  tenantId: number;
  patientId: number;
  part: Part;
}

export interface CachedValue {
  stamp: string;
  /** In base64. */
  sealed: string;
}

const answerMsMax = 200;
const restMsMin = 500;
const restMsMax = 10_000;

export class CacheDoor {
  readonly isOff: boolean;
  #closedUntil = 0;
  #restMs = restMsMin;

  constructor({ cacheEntriesMax }: Config) {
    this.isOff = cacheEntriesMax === 0;
  }

  async take(call: Call<unknown>, place: Place): Promise<CachedValue | undefined> {
    const taken = await this.#ask(() => call.bus("cache.take", wired(place), answerMsMax));
    return taken ?? undefined;
  }

  /** Not waited for: the reader has what it needs. */
  put(call: Call<unknown>, place: Place, value: CachedValue): void {
    void this.#ask(() => call.bus("cache.put", { ...wired(place), ...value }, answerMsMax));
  }

  /**
   * @param stamp of the value that turned out to be of no use
   * @param counted it came from `take`
   */
  drop(call: Call<unknown>, place: Place, stamp: string, counted: boolean): void {
    void this.#ask(() => call.bus("cache.drop", { ...wired(place), stamp, counted }, answerMsMax));
  }

  async #ask<T>(question: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#closedUntil) return undefined;
    try {
      const answer = await question();
      this.#restMs = restMsMin;
      return answer;
    } catch {
      this.#closedUntil = performance.now() + this.#restMs;
      this.#restMs = Math.min(restMsMax, this.#restMs * 2);
      return undefined;
    }
  }
}

function wired({ tenantId, patientId, part }: Place) {
  return { tenant_id: tenantId, patient_id: patientId, part };
}
