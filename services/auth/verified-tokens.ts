// Tokens whose signature and claims were verified in full by this process: the same bytes need not be verified again
// until they expire. It says nothing about the session, which is read from the database at every request.
import { LRUCache } from "lru-cache";

const tokensMax = 2_000;

export class VerifiedTokens {
  /** By the clock that tokens expire by, which may be set; `performance.now()` may not. */
  readonly #sessionIds = new LRUCache<string, string>({ max: tokensMax, ttlResolution: 0, perf: Date });

  /** The session of a token that was added and has not expired. */
  sessionOf(token: string): string | undefined {
    return this.#sessionIds.get(token);
  }

  /** @param endsMs in ms since 1970; the one that was used longest ago goes when there are too many */
  add(token: string, sessionId: string, endsMs: number): void {
    const ttl = endsMs - Date.now();
    // To lru-cache 0 means "for ever".
    if (ttl >= 1) this.#sessionIds.set(token, sessionId, { ttl });
  }
}
