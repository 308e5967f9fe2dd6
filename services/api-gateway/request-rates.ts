// How often one may call at all: a signed-in user, all users of a tenant, and an address where no token is asked for.
// Far above what honest clients need, so that a runaway script or a thief is stopped before anything is read or written.
// Counted in this process alone: with n gateways it is at most n times as much.
import type { Caller } from "../shared/caller.ts";
import { TooManyRequests } from "../shared/errors.ts";
import { TokenBuckets } from "../shared/limits/token-buckets.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { Config } from "../shared/settings/settings.ts";
import type { Endpoint } from "./endpoint.ts";

/** Some 100 bytes each. */
const keysMax = 50_000;
/** Of a body, as many as cost about what a small request does. */
const bytesPerRequest = 8_192;

export class RequestRates {
  readonly #users: TokenBuckets<number>;
  readonly #tenants: TokenBuckets<number>;
  readonly #addresses: TokenBuckets<string>;
  readonly #senders: TokenBuckets<string>;

  constructor(config: Config) {
    this.#users = new TokenBuckets(config.requestsPerMinute, keysMax);
    this.#tenants = new TokenBuckets(config.tenantRequestsPerMinute, keysMax);
    this.#addresses = new TokenBuckets(config.anonymousPerMinute, keysMax);
    this.#senders = new TokenBuckets(config.notificationsPerMinute, keysMax);
  }

  /**
   * After who it is (401) and before whether they may (403), so that a refusal here writes nothing.
   * @throws TooManyRequests
   */
  take({ contract }: Endpoint, { principal, facts }: Caller): void {
    const { weight } = contract;
    const now = performance.now();
    if (principal.kind === "user") {
      refuseFor(this.#users.take(principal.userId, now, weight));
      refuseFor(this.#tenants.take(principal.tenantId, now, weight));
    } else {
      // Who posts notifications is a program that may have much to say; what it says has to be signed.
      const rate = contract.rawBody === undefined ? this.#addresses : this.#senders;
      refuseFor(rate.take(addressKey(facts.ip), now, weight));
    }
  }

  /**
   * What a body of a signed-in user costs besides, before it is parsed: one of a megabyte takes as long as a hundred requests.
   * Without a token bodies are small, and those of notifications are believed only if they are signed.
   * @throws TooManyRequests
   */
  takeBody({ principal }: Caller, bytes: number): void {
    const weight = Math.floor(bytes / bytesPerRequest);
    if (weight === 0 || principal.kind !== "user") return;
    const now = performance.now();
    refuseFor(this.#users.take(principal.userId, now, weight));
    refuseFor(this.#tenants.take(principal.tenantId, now, weight));
  }
}

function refuseFor(seconds: number): void {
  if (seconds > 0) throw new TooManyRequests(seconds);
}
