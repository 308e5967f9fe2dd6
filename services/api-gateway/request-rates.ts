// How often one may call at all: a signed-in user, all users of a tenant, and an address where no token is asked for.
// Far above what honest clients need, so that a runaway script or a thief is stopped before anything is read or written.
// Tokens that are not good have a rate per address too. Counted in this process alone: with n gateways it is at most n times as much.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Caller } from "../shared/caller.ts";
import { TooManyRequests } from "../shared/errors.ts";
import { TokenBuckets } from "../shared/limits/token-buckets.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { Config } from "../../host/settings/settings.ts";
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
  readonly #badTokens: TokenBuckets<string>;
  /** Hashes of tokens that were good when they were last asked about. */
  readonly #goodTokens = new LRUCache<string, true>({ max: keysMax });

  constructor(config: Config) {
    this.#users = new TokenBuckets(config.requestsPerMinute, keysMax);
    this.#tenants = new TokenBuckets(config.tenantRequestsPerMinute, keysMax);
    this.#addresses = new TokenBuckets(config.anonymousPerMinute, keysMax);
    this.#senders = new TokenBuckets(config.notificationsPerMinute, keysMax);
    this.#badTokens = new TokenBuckets(config.anonymousPerMinute, keysMax);
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
   * Asks about a token, unless its address has tried too many bad ones. They have a rate of their own, so signing in again is
   * possible where it is spent. It is charged when the answer is known, as good ones take nothing; what was asked at once
   * beyond it is a debt, so that it is no way round the rate. A token that was good here before is asked about in any case:
   * its holder may share the address with who is refused.
   * @param isBad whether an error of `ask` says that the token is not good
   * @throws TooManyRequests, and whatever `ask` throws
   */
  async whileAsking<T>(
    token: string,
    ip: string | null,
    ask: () => Promise<T>,
    isBad: (error: unknown) => boolean,
  ): Promise<T> {
    const address = addressKey(ip);
    const known = hash("sha256", token);
    if (!this.#goodTokens.has(known)) refuseFor(this.#badTokens.wait(address, performance.now()));
    try {
      const answer = await ask();
      this.#goodTokens.set(known, true);
      return answer;
    } catch (error) {
      if (isBad(error)) {
        this.#goodTokens.delete(known);
        this.#badTokens.charge(address, performance.now());
      }
      throw error;
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
