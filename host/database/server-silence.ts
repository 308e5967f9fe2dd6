// A PostgreSQL that takes connections and answers nothing (it stands still, or the network swallows packets). That is known
// only after seconds, by the statement that waits in vain. From then on nobody else waits: whoever wants a connection is
// refused at once, until one probe of our own is answered.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";

const askAgainMs = 250;
/** https://www.postgresql.org/docs/18/errcodes-appendix.html cannot_connect_now */
const notNow = "57P03";
/** What the pool says of a connection that was not there in time; waiting for a busy pool is another thing. */
const notConnected = /connection timeout/;

type OnConnect = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

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

  /** From now on the pool refuses while the server is silent. */
  guard(pool: pg.Pool): void {
    const connect = pool.connect.bind(pool);
    const guarded = (callback?: OnConnect) => {
      if (callback !== undefined) {
        if (this.#isSilent) return queueMicrotask(() => callback(silent(), undefined, () => {}));
        return connect(callback);
      }
      return this.#isSilent ? Promise.reject(silent()) : this.#connected(connect());
    };
    // The driver declares the two ways to ask as overloads, which one function cannot be seen to have.
    Object.assign(pool, { connect: guarded });
  }

  async #connected(asked: Promise<pg.PoolClient>): Promise<pg.PoolClient> {
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

const silent = () => Object.assign(new Error("PostgreSQL does not answer"), { code: notNow });
