// A PostgreSQL that takes connections and answers nothing (it stands still, or the network swallows packets). That is known
// only after seconds, by the statement that waits in vain. From then on nobody else waits: whoever wants a connection is
// refused at once, until one probe of our own is answered.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { sqlStates } from "../../services/shared/database/sql-states.ts";

const askAgainMs = 250;
/** What the pool says of a connection that was not there in time; waiting for a busy pool is another thing. */
const notConnected = /connection timeout/;

export class ServerSilence {
  readonly #ask: () => Promise<boolean>;
  #isSilent = false;
  #isClosed = false;

  /** @param ask whether the server answers, over a connection of its own and in bounded time */
  constructor(ask: () => Promise<boolean>) {
    this.#ask = ask;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** A statement or a connection had no answer, long after it should have had one. */
  found(): void {
    if (this.#isSilent || this.#isClosed) return;
    this.#isSilent = true;
    void this.#untilHeard();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** What whoever wants a connection is refused with, while the server is silent. */
  refusal(): Error | undefined {
    return this.#isSilent
      ? Object.assign(new Error("PostgreSQL does not answer"), { code: sqlStates.cannotConnectNow })
      : undefined;
  }

  /** A connection that is not there in time is a sign of silence. @returns the same */
  async watch(asked: Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof Error && notConnected.test(error.message)) this.found();
      throw error;
    }
  }

  async #untilHeard(): Promise<void> {
    while (!this.#isClosed && !(await this.#ask())) await delay(askAgainMs, undefined, { ref: false });
    this.#isSilent = false;
  }
}
