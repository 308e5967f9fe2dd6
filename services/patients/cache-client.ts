// Client of the cache service. The cache only saves work: when it is missing, slow or hangs, a read continues
// without it. After a failure the cache is not called for a while (back-off), so a failure costs one short
// wait instead of one per read.
import type { Call } from "../shared/bus/bus.ts";
import type { Config } from "../../host/settings/settings.ts";
import { TenantBatches } from "../shared/tenant-batches.ts";

export type Part = "patient" | "records";

/** Identifies a cached value. */
export interface CacheKey {
  tenantId: number;
  patientId: number;
  part: Part;
}

/** A sealed value and the patient's stamp at the time of reading. */
export interface CachedValue {
  stamp: string;
  /** In base64. */
  sealed: string;
}

/** The parts of a call that the client needs. */
export type Bus = Pick<Call<unknown>, "bus" | "busForService">;

interface Request {
  call: Bus;
  cacheKey: CacheKey;
}

const answerMsMax = 200;
const backOffMsMin = 500;
const backOffMsMax = 10_000;

/** One per process. Its methods never throw. */
export class CacheClient {
  readonly isOff: boolean;
  /**
   * One batch for all tenants in a turn of the event loop: a call on the bus costs more than the values it
   * fetches.
   */
  readonly #takes = new TenantBatches<Request, CachedValue | null, "all">((_all, asked) =>
    this.#takeMany(asked),
  );
  #backOffUntil = 0;
  #backOffMs = backOffMsMin;

  constructor({ cacheEntriesMax }: Config) {
    this.isOff = cacheEntriesMax === 0;
  }

  /** The cached value, or undefined when there is none or the cache does not answer in time. */
  async take(call: Bus, cacheKey: CacheKey): Promise<CachedValue | undefined> {
    return (await this.#takes.add("all", { call, cacheKey })) ?? undefined;
  }

  /** Stores a value. Not awaited, because the reader has its result already. */
  put(call: Bus, cacheKey: CacheKey, value: CachedValue): void {
    void this.#callUnlessBackingOff(() =>
      call.bus("cache.put", { ...toParams(cacheKey), ...value }, answerMsMax),
    );
  }

  /**
   * Removes an outdated value. Not awaited.
   * @param stamp the stamp of the outdated value
   * @param counted whether `take` counted a hit for it
   */
  drop(call: Bus, cacheKey: CacheKey, stamp: string, counted: boolean): void {
    void this.#callUnlessBackingOff(() =>
      call.bus("cache.drop", { ...toParams(cacheKey), stamp, counted }, answerMsMax),
    );
  }

  async #takeMany(asked: readonly Request[]): Promise<(CachedValue | null)[]> {
    const cacheKeys = asked.map(({ cacheKey }) => cacheKey);
    const wanted = {
      tenant_ids: cacheKeys.map(({ tenantId }) => tenantId),
      patient_ids: cacheKeys.map(({ patientId }) => patientId),
      parts: cacheKeys.map(({ part }) => part),
    };
    const taken = await this.#callUnlessBackingOff(async () =>
      asked[0]?.call.busForService("cache.take", wanted, answerMsMax),
    );
    return asked.map((_, at) => taken?.[at] ?? null);
  }

  async #callUnlessBackingOff<T>(request: () => Promise<T>): Promise<T | undefined> {
    if (performance.now() < this.#backOffUntil) return undefined;
    try {
      const answer = await request();
      this.#backOffMs = backOffMsMin;
      return answer;
    } catch {
      this.#backOffUntil = performance.now() + this.#backOffMs;
      this.#backOffMs = Math.min(backOffMsMax, this.#backOffMs * 2);
      return undefined;
    }
  }
}

function toParams({ tenantId, patientId, part }: CacheKey) {
  return { tenant_id: tenantId, patient_id: patientId, part };
}
