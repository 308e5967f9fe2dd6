// Group commit: what many requests want to write for one tenant goes as one statement. The first goes at once; what comes
// while it is under way is collected and goes together when it is back. So nothing waits for a clock, and under load the
// price of a transaction is shared.

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

const itemsMax = 100;

/** @typeParam Key what stands for the tenant: its id, or its subdomain where the id is not known yet */
export class TenantBatches<Item, Result, Key = number> {
  readonly #write: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>;
  /** Tenants with a statement under way, and what waits for its end. */
  readonly #waiting = new Map<Key, Waiting<Item, Result>[]>();

  /** @param write one statement for all items; answers one result per item, in their order */
  constructor(write: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#write = write;
  }

  /** Resolves when the item is committed. */
  add(key: Key, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const one = { item, resolve, reject };
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(one);
        return;
      }
      this.#waiting.set(key, []);
      void this.#run(key, [one]);
    });
  }

  async #run(key: Key, first: Waiting<Item, Result>[]): Promise<void> {
    let batch = first;
    while (batch.length > 0) {
      await this.#settle(key, batch);
      batch = this.#waiting.get(key)?.splice(0, itemsMax) ?? [];
    }
    this.#waiting.delete(key);
  }

  /** One item that the database refuses must not fail its neighbours: then each goes alone. */
  async #settle(key: Key, batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(
        key,
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
      else for (const each of batch) await this.#settle(key, [each]);
    }
  }
}
