// Group commit: items that many requests write for one tenant are written by one statement. Items that arrive within one turn of
// the event loop form a batch. Items that arrive while a statement runs are collected, and form the next batch when it ends. So
// no item waits for a timer, and under load the cost of a transaction is shared.
import { setImmediate as immediate } from "node:timers/promises";
import { sqlStates } from "./database/sql-states.ts";
import { errorCode } from "./start-error.ts";
import { currentContext, detached, runInOneOf, type WorkContext } from "./tracing.ts";
import { translate } from "./failures.ts";

interface WaitingItem<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  context: WorkContext | undefined;
}

export interface BatchOptions {
  /** Items per statement; default 100. */
  itemsMax?: number;
  /**
   * How many turns of the event loop a batch may wait while each turn brings more items; default 1. More are for statements whose
   * fixed cost is that of many items.
   */
  turnsMax?: number;
  /** Whether the items of a failed statement are tried one by one; default true. False if an item cannot be the cause. */
  triesEach?: boolean;
}

/** @typeParam Key identifies the tenant: by its id, or by its subdomain if the id is not known yet */
export class TenantBatches<Item, Result, Key = number> {
  readonly #write: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>;
  /** Tenants with a running statement, and the items that wait for its end. */
  readonly #waiting = new Map<Key, WaitingItem<Item, Result>[]>();

  readonly #options: Required<BatchOptions>;

  /**
   * @param write runs one statement for all items; returns one result per item, in their order
   * @param options the bounds of a batch
   */
  constructor(
    write: (key: Key, items: readonly Item[]) => Promise<readonly Result[]>,
    options: BatchOptions = {},
  ) {
    this.#write = write;
    this.#options = { itemsMax: 100, turnsMax: 1, triesEach: true, ...options };
  }

  /** Resolves when the item is committed. Rejects with the error of its statement. */
  add(key: Key, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const one = { item, resolve, reject, context: currentContext() };
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(one);
        return;
      }
      this.#waiting.set(key, [one]);
      // The run also writes items of later requests, so it belongs to no request.
      void detached(() => this.#run(key));
    });
  }

  async #run(key: Key): Promise<void> {
    for (;;) {
      await this.#collect(key);
      const batch = this.#waiting.get(key)?.splice(0, this.#options.itemsMax) ?? [];
      if (batch.length === 0) break;
      await this.#writeBatch(key, batch);
    }
    this.#waiting.delete(key);
  }

  /** Requests that share a session read arrive within one turn of the event loop, one after the other. */
  async #collect(key: Key): Promise<void> {
    const { itemsMax, turnsMax } = this.#options;
    for (let turn = 0, before = -1; turn < turnsMax; turn++) {
      await immediate();
      const now = this.#waiting.get(key)?.length ?? 0;
      if (now === before || now >= itemsMax) return;
      before = now;
    }
  }

  /**
   * An item that the database rejects must not fail its neighbours: after an error each item is written alone. If the database is
   * unreachable or the whole batch timed out, all items fail: a hundred more statements would not help while others wait.
   */
  async #writeBatch(key: Key, batch: readonly WaitingItem<Item, Result>[]): Promise<void> {
    try {
      const results = await runInOneOf(
        batch.map(({ context }) => context),
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
      else for (const each of batch) await this.#writeBatch(key, [each]);
    }
  }
}

function isHopeless(error: unknown): boolean {
  const { publicError } = translate(error);
  return (
    ("type" in publicError && publicError.type === "unavailable") ||
    errorCode(error) === sqlStates.queryCanceled
  );
}
