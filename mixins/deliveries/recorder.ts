// Writes results in batches: what comes within a few milliseconds goes together. A result is kept until it is written,
// however long the database is away; the worker starts nothing new when too many wait.
import { setTimeout as delay } from "node:timers/promises";

import { detached } from "../../services/shared/tracing.ts";

const gatherMs = 15;
const batchMax = 500;
const againMs = 500;

export class Recorder<Item> {
  readonly #write: (batch: readonly Item[]) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  readonly #waiting: Item[] = [];
  #running: Promise<void> | undefined;
  #giveUp = false;

  /** @param write may be called again with the same batch after it failed; `failed` is told of each failure */
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

  /** Resolves when all is written, or could not be for once more. */
  async close(): Promise<void> {
    this.#giveUp = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        if (this.#waiting.length < batchMax && !this.#giveUp) await delay(gatherMs);
        if (!(await this.#writeBatch())) return;
      }
    } finally {
      // In the same turn as the loop's last look: what is added from now on runs anew.
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
      await delay(againMs);
      return true;
    }
  }
}
