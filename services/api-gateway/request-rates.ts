// Rates of requests: of a signed-in user, of all users of a tenant, and of an address where no token is needed. They are far
// above the needs of honest clients and stop a runaway script or a stolen token before anything is read or written.
// Invalid tokens have a rate per address too. The rates are counted in this process: with n gateways they are up to n times as high.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Caller } from "../shared/caller.ts";
import { TooManyRequests } from "../shared/errors.ts";
import { TokenBuckets } from "../shared/limits/token-buckets.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { Config } from "../../host/settings/settings.ts";
import type { Endpoint } from "./endpoint.ts";

/** About 100 bytes each. */
const keysMax = 50_000;
/** Bytes of a body that cost about as much as a small request. */
const bytesPerRequest = 8_192;

export class RequestRates {
  readonly #users: TokenBuckets<number>;
  readonly #tenants: TokenBuckets<number>;
  readonly #addresses: TokenBuckets<string>;
  readonly #senders: TokenBuckets<string>;
  readonly #badTokens: TokenBuckets<string>;
  /** Hashes of tokens that were valid at their last check. */
  readonly #goodTokens = new LRUCache<string, true>({ max: keysMax });

  constructor(config: Config) {
    this.#users = new TokenBuckets(config.requestsPerMinute, keysMax);
    this.#tenants = new TokenBuckets(config.tenantRequestsPerMinute, keysMax);
    this.#addresses = new TokenBuckets(config.anonymousPerMinute, keysMax);
    this.#senders = new TokenBuckets(config.notificationsPerMinute, keysMax);
    this.#badTokens = new TokenBuckets(config.anonymousPerMinute, keysMax);
  }

  /**
   * Runs after authentication (401) and before the access check (403), so a refusal here writes nothing.
   * @throws TooManyRequests
   */
  take({ contract }: Endpoint, { principal, facts }: Caller): void {
    const { weight } = contract;
    const now = performance.now();
    if (principal.kind === "user") {
      refuseFor(this.#users.take(principal.userId, now, weight));
      refuseFor(this.#tenants.take(principal.tenantId, now, weight));
    } else {
      // Notifications are posted by programs, which may send many; they have to be signed.
      const rate = contract.rawBody === undefined ? this.#addresses : this.#senders;
      refuseFor(rate.take(addressKey(facts.ip), now, weight));
    }
  }

  /**
   * Checks a token, unless its address has sent too many invalid ones. Invalid tokens have a rate of their own, so signing in
   * is still possible when it is used up. It is charged after the check, because valid tokens take nothing from it. Concurrent
   * checks beyond the rate become a debt, so they do not get around it. A token that was valid here before is always checked:
   * its holder may share the address with somebody whose tokens are refused.
   * @param isBad whether an error of `ask` means that the token is invalid
   * @throws TooManyRequests, and every error of `ask`
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
   * Charges the body of a signed-in user, before it is parsed: a megabyte takes as long as a hundred requests.
   * Bodies without a token are small, and notifications act only if they are signed.
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
