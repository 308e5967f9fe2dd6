// Tokens whose signature and claims were verified in full by this process: the same bytes need not be verified again
// until they expire. It says nothing about the session, which is read from the database at every request.

const tokensMax = 2_000;

interface Verified {
  sessionId: string;
  endsMs: number;
}

export class VerifiedTokens {
  /** In the order of their verification. */
  readonly #tokens = new Map<string, Verified>();

  /** The session of a token that was added and has not expired. */
  sessionOf(token: string): string | undefined {
    const verified = this.#tokens.get(token);
    if (verified === undefined) return undefined;
    if (Date.now() < verified.endsMs) return verified.sessionId;
    this.#tokens.delete(token);
    return undefined;
  }

  /** @param endsMs in ms since 1970; the oldest goes when there are too many */
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
