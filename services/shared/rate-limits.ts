// Rate limits, counted in PostgreSQL so that all nodes share them. While the database is unreachable each node counts
// separately: a limiter that fails open would invite an attack.
import { isIPv6 } from "node:net";
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import type { Database } from "./database/database.ts";
import { TooManyRequests } from "./errors.ts";

const table = "rate_limits";

/** A fixed window per key. @param points allowed per window @param perSeconds length of the window */
export class RateLimit {
  readonly #limiter: RateLimiterPostgres;

  constructor(database: Database, name: string, points: number, perSeconds: number) {
    const limits = { keyPrefix: name, points, duration: perSeconds };
    this.#limiter = new RateLimiterPostgres({
      ...limits,
      storeClient: database.pool,
      storeType: "pool",
      tableName: table,
      tableCreated: true,
      clearExpiredByTimeout: false,
      // After the limit a node refuses by itself until the window ends.
      inMemoryBlockOnConsumed: points + 1,
      insuranceLimiter: new RateLimiterMemory(limits),
    });
  }

  /** @throws TooManyRequests with the seconds until the window ends */
  async take(key: string): Promise<void> {
    const refusal = await this.#consume(key);
    if (refusal !== undefined) throw tooMany(refusal);
  }

  /** Takes one without an error. @returns whether there was one left */
  async spend(key: string): Promise<boolean> {
    return (await this.#consume(key)) === undefined;
  }

  /** Takes none. @throws TooManyRequests when none is left */
  async refuseIfSpent(key: string): Promise<void> {
    const used = await this.#limiter.get(key);
    if (used !== null && used.remainingPoints <= 0) throw tooMany(used);
  }

  async #consume(key: string): Promise<RateLimiterRes | undefined> {
    try {
      await this.#limiter.consume(key);
      return undefined;
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      return refusal;
    }
  }
}

function tooMany({ msBeforeNext }: RateLimiterRes): TooManyRequests {
  return new TooManyRequests(Math.max(1, Math.ceil(msBeforeNext / 1000)));
}

/** @returns one key per client: in IPv6 a whole /64, because one subscriber has that many addresses */
export function addressKey(ip: string | null): string {
  if (ip === null) return "unknown";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(ip)) return ip;
  const [head = "", tail] = (ip.split("%")[0] ?? "").toLowerCase().split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
