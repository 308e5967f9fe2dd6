// The way to the cache service. The cache only saves work: whatever is wrong with it (absent, slow, hung), a reader goes
// on without it, and after a failure it is left alone for a while, so that it costs one short wait and not one for each.
import type { Call } from "../shared/bus/bus.ts";
import type { Config } from "../../host/settings/settings.ts";
import { TenantBatches } from "../shared/tenant-batches.ts";

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

/** What the door needs of a call. */
export type Bus = Pick<Call<unknown>, "bus" | "busForService">;

interface Asked {
  call: Bus;
  place: Place;
}

const answerMsMax = 200;
const restMsMin = 500;
const restMsMax = 10_000;

export class CacheClient {
  readonly isOff: boolean;
  /** One call for all readers of a turn, whatever their tenants: a call costs more than what it fetches. */
  readonly #takes = new TenantBatches<Asked, CachedValue | null, "all">((_all, asked) =>
    this.#takeMany(asked),
  );
  #closedUntil = 0;
  #restMs = restMsMin;

  constructor({ cacheEntriesMax }: Config) {
    this.isOff = cacheEntriesMax === 0;
  }

  async take(call: Bus, place: Place): Promise<CachedValue | undefined> {
    return (await this.#takes.add("all", { call, place })) ?? undefined;
  }

  /** Not waited for: the reader has what it needs. */
  put(call: Bus, place: Place, value: CachedValue): void {
    void this.#ask(() => call.bus("cache.put", { ...wired(place), ...value }, answerMsMax));
  }

  /**
   * @param stamp of the value that turned out to be of no use
   * @param counted it came from `take`
   */
  drop(call: Bus, place: Place, stamp: string, counted: boolean): void {
    void this.#ask(() => call.bus("cache.drop", { ...wired(place), stamp, counted }, answerMsMax));
  }

  async #takeMany(asked: readonly Asked[]): Promise<(CachedValue | null)[]> {
    const places = asked.map(({ place }) => place);
    const wanted = {
      tenant_ids: places.map(({ tenantId }) => tenantId),
      patient_ids: places.map(({ patientId }) => patientId),
      parts: places.map(({ part }) => part),
    };
    const taken = await this.#ask(async () =>
      asked[0]?.call.busForService("cache.take", wanted, answerMsMax),
    );
    return asked.map((_, at) => taken?.[at] ?? null);
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
