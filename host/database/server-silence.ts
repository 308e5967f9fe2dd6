// Detects a PostgreSQL that accepts connections but does not answer (it hangs, or the network drops packets). Only a statement
// that waits in vain for seconds reveals it. From then on nobody else waits: every request for a connection is refused at once,
// until a probe on a connection of its own is answered.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { sqlStates } from "../../services/shared/database/sql-states.ts";

const probeEveryMs = 250;
/** The pool's message for a connection that was not established in time. Waiting for a busy pool has another message. */
const notConnected = /connection timeout/;

/** Probes a silent server every 250 ms. */
export class ServerSilence {
  readonly #ask: () => Promise<boolean>;
  #isSilent = false;
  #isClosed = false;

  /** @param ask probes the server over a connection of its own, in bounded time */
  constructor(ask: () => Promise<boolean>) {
    this.#ask = ask;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Called when a statement or a connection got no answer long after its timeout. */
  found(): void {
    if (this.#isSilent || this.#isClosed) return;
    this.#isSilent = true;
    void this.#untilHeard();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** @returns the error for requests of connections while the server is silent; undefined otherwise */
  refusal(): Error | undefined {
    return this.#isSilent
      ? Object.assign(new Error("PostgreSQL does not answer"), { code: sqlStates.cannotConnectNow })
      : undefined;
  }

  /** Treats a connection that is not established in time as a sign of silence. @returns the same connection */
  async watch(asked: Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof Error && notConnected.test(error.message)) this.found();
      throw error;
    }
  }

  async #untilHeard(): Promise<void> {
    while (!this.#isClosed && !(await this.#ask())) await delay(probeEveryMs, undefined, { ref: false });
    this.#isSilent = false;
  }
}
