// A cache of tokens whose signature and claims this process has verified: the same token need not be verified
// again until it expires. It says nothing about the session, whose state is read from the database for every
// request.
import { LRUCache } from "lru-cache";

const tokensMax = 2_000;

/** At most `tokensMax` tokens; the least recently used is evicted first. */
export class VerifiedTokens {
  /** By the clock that tokens expire by, which may be set; `performance.now()` may not. */
  readonly #sessionIds = new LRUCache<string, string>({ max: tokensMax, ttlResolution: 0, perf: Date });

  /** The session's id, if the token was added and has not expired. */
  sessionOf(token: string): string | undefined {
    return this.#sessionIds.get(token);
  }

  /** @param endsMs end of validity, in ms since 1970 */
  add(token: string, sessionId: string, endsMs: number): void {
    const ttl = endsMs - Date.now();
    // To lru-cache 0 means "for ever".
    if (ttl >= 1) this.#sessionIds.set(token, sessionId, { ttl });
  }
}
