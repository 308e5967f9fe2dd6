// A cache of tokens whose signature and claims this process has verified: the same token need not be verified
// again until it expires. It says nothing about the session, whose state is read from the database for every
// request.

const tokensMax = 2_000;

interface Verified {
  sessionId: string;
  endsMs: number;
}

/** At most `tokensMax` tokens; the oldest is evicted first. */
export class VerifiedTokens {
  /** In the order of their verification. */
  readonly #tokens = new Map<string, Verified>();

  /** The session's id, if the token was added and has not expired. */
  sessionOf(token: string): string | undefined {
    const verified = this.#tokens.get(token);
    if (verified === undefined) return undefined;
    if (Date.now() < verified.endsMs) return verified.sessionId;
    this.#tokens.delete(token);
    return undefined;
  }

  /** @param endsMs end of validity, in ms since 1970 */
  add(token: string, sessionId: string, endsMs: number): void {
    if (this.#tokens.size >= tokensMax) {
      for (const [oldest] of this.#tokens) {
        this.#tokens.delete(oldest);
        break;
      }
    }
    this.#tokens.set(token, { sessionId, endsMs });
  }
}
