// Group commit: what many requests want to write for one tenant goes as one statement. What comes in one turn of the event
// loop goes together; what comes while a statement is under way is collected and goes together when it is back. So nothing
// waits for a clock, and under load the price of a transaction is shared.
import { setImmediate as immediate } from "node:timers/promises";

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

const itemsMax = 100;

export class TenantBatches<Item, Result> {
  readonly #write: (tenantId: number, items: readonly Item[]) => Promise<readonly Result[]>;
  /** Tenants with a statement under way, and what waits for its end. */
  readonly #waiting = new Map<number, Waiting<Item, Result>[]>();

  /** @param write one statement for all items; answers one result per item, in their order */
  constructor(write: (tenantId: number, items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#write = write;
  }

  /** Resolves when the item is committed. */
  add(tenantId: number, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const one = { item, resolve, reject };
      const waiting = this.#waiting.get(tenantId);
      if (waiting !== undefined) {
        waiting.push(one);
        return;
      }
      this.#waiting.set(tenantId, [one]);
      void this.#run(tenantId);
    });
  }

  async #run(tenantId: number): Promise<void> {
    for (;;) {
      // Requests that share a read of their sessions come here in one turn of the event loop, one after the other.
      await immediate();
      const batch = this.#waiting.get(tenantId)?.splice(0, itemsMax) ?? [];
      if (batch.length === 0) break;
      await this.#settle(tenantId, batch);
    }
    this.#waiting.delete(tenantId);
  }

  /** One item that the database refuses must not fail its neighbours: then each goes alone. */
  async #settle(tenantId: number, batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(
        tenantId,
        batch.map(({ item }) => item),
      );
      batch.forEach(({ resolve, reject }, at) => {
        const result = results[at];
        if (result === undefined) reject(new Error("a batch answered too little"));
        else resolve(result);
      });
    } catch (error) {
      const [one] = batch;
      if (batch.length === 1) one?.reject(error);
      else for (const each of batch) await this.#settle(tenantId, [each]);
    }
  }
}
