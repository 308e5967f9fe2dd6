// Group commit: what many requests want to write for one tenant goes as one statement. What comes in one turn of the event
// loop goes together; what comes while a statement is under way is collected and goes together when it is back. So nothing
// waits for a clock, and under load the price of a transaction is shared.
import { setImmediate as immediate } from "node:timers/promises";
import { sqlStates } from "./database/sql-states.ts";
import { errorCode } from "./start-error.ts";
import { currentTrail, detached, followOneOf, type Trail } from "./tracing.ts";
import { translate } from "./failures.ts";

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  trail: Trail | undefined;
}

export interface BatchOptions {
  /** Of one statement. */
  itemsMax?: number;
  /**
   * How many turns of the event loop a batch may wait, while each of them brings more: for statements whose own price is that
   * of many items.
   */
  turnsMax?: number;
  /** Whether the items of a statement that failed are tried one by one. Of no use where an item cannot be the cause. */
  triesEach?: boolean;
}

/** @typeParam Key what stands for the tenant: its id, or its subdomain where the id is not known yet */
export class TenantBatches<Item, Result, Key = number> {
  readonly #write: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>;
  /** Tenants with a statement under way, and what waits for its end. */
  readonly #waiting = new Map<Key, Waiting<Item, Result>[]>();

  readonly #options: Required<BatchOptions>;

  /** @param write one statement for all items; answers one result per item, in their order */
  constructor(
    write: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>,
    options: BatchOptions = {},
  ) {
    this.#write = write;
    this.#options = { itemsMax: 100, turnsMax: 1, triesEach: true, ...options };
  }

  /** Resolves when the item is committed. */
  add(key: Key, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const one = { item, resolve, reject, trail: currentTrail() };
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(one);
        return;
      }
      this.#waiting.set(key, [one]);
      // It goes on for whoever comes next.
      void detached(() => this.#run(key));
    });
  }

  async #run(key: Key): Promise<void> {
    for (;;) {
      await this.#gather(key);
      const batch = this.#waiting.get(key)?.splice(0, this.#options.itemsMax) ?? [];
      if (batch.length === 0) break;
      await this.#settle(key, batch);
    }
    this.#waiting.delete(key);
  }

  /** Requests that share a read of their sessions come here in one turn of the event loop, one after the other. */
  async #gather(key: Key): Promise<void> {
    const { itemsMax, turnsMax } = this.#options;
    for (let turn = 0, before = -1; turn < turnsMax; turn++) {
      await immediate();
      const now = this.#waiting.get(key)?.length ?? 0;
      if (now === before || now >= itemsMax) return;
      before = now;
    }
  }

  /**
   * One item that the database refuses must not fail its neighbours: then each goes alone. Where the database is away, or
   * all of it took too long, nothing is gained by asking a hundred times more while others wait.
   */
  async #settle(key: Key, batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await followOneOf(
        batch.map(({ trail }) => trail),
        () =>
          this.#write(
            key,
            batch.map(({ item }) => item),
          ),
      );
      batch.forEach(({ resolve, reject }, at) => {
        const result = results[at];
        if (result === undefined) reject(new Error("a batch answered too little"));
        else resolve(result);
      });
    } catch (error) {
      const [one] = batch;
      if (batch.length === 1) one?.reject(error);
      else if (!this.#options.triesEach || isHopeless(error)) for (const { reject } of batch) reject(error);
      else for (const each of batch) await this.#settle(key, [each]);
    }
  }
}

function isHopeless(error: unknown): boolean {
  const { publicError: told } = translate(error);
  return ("type" in told && told.type === "unavailable") || errorCode(error) === sqlStates.queryCanceled;
}
