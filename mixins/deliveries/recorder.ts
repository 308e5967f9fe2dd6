// Writes results in batches: results that arrive within a few milliseconds are written together. A result is kept until it is
// written, however long the database is unreachable. The worker starts no new delivery when too many results wait.
import { setTimeout as delay } from "node:timers/promises";

import { detached } from "../../services/shared/tracing.ts";

const collectMs = 15;
const batchMax = 500;
const retryMs = 500;

/** Collects results for 15 ms and writes at most 500 of them at a time. After a failure it tries again every 500 ms. */
export class Recorder<Item> {
  readonly #write: (batch: readonly Item[]) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #waiting: Item[] = [];
  #running: Promise<void> | undefined;
  #giveUp = false;

  /** @param write may be called again with the same batch after it failed @param failed called with each failure */
  constructor(write: (batch: readonly Item[]) => Promise<void>, failed: (error: unknown) => void) {
    this.#write = write;
    this.#failed = failed;
  }

  /** How many results are not written yet. */
  get size(): number {
    return this.#waiting.length;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    this.#running ??= detached(() => this.#run());
  }

  /** Resolves when everything is written, or when one more attempt has failed. */
  async close(): Promise<void> {
    this.#giveUp = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        if (this.#waiting.length < batchMax && !this.#giveUp) await delay(collectMs);
        if (!(await this.#writeBatch())) return;
      }
    } finally {
      // Set in the same turn of the event loop as the last check of the queue: an item added from now on starts a new run.
      this.#running = undefined;
    }
  }

  async #writeBatch(): Promise<boolean> {
    const batch = this.#waiting.slice(0, batchMax);
    try {
      await this.#write(batch);
      this.#waiting.splice(0, batch.length);
      return true;
    } catch (error) {
      this.#failed(error);
      if (this.#giveUp) return false;
      await delay(retryMs);
      return true;
    }
  }
}
