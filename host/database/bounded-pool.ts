// A pool that is full is overload: whoever finds it so waits a moment (DATABASE_POOL_WAIT_MS), and is 503 then. Waiting longer would only move
// the queue from the gateway, which refuses at once what is too much, to here, where clients give up meanwhile.
import type pg from "pg";

const waitingMax = 1_000;

type Done = Parameters<pg.Pool["connect"]>[0];

/** @param waitMsMax less than making a new connection may take (connect.ts) */
export function boundWaits(pool: pg.Pool, waitMsMax: number): void {
  const connect = pool.connect.bind(pool);
  const isFull = () => pool.idleCount === 0 && pool.totalCount >= pool.options.max;
  Object.assign(pool, {
    // By a callback too: so asks the pool's own `query`.
    connect(callback?: Done) {
      const ask = () => (callback === undefined ? connect() : connect(callback));
      if (!isFull()) return ask();
      if (pool.waitingCount >= waitingMax) return refuse(callback);
      const { connectionTimeoutMillis } = pool.options;
      // The pool reads it as it puts the caller into its queue, before `connect` returns.
      pool.options.connectionTimeoutMillis = waitMsMax;
      try {
        return ask();
      } finally {
        pool.options.connectionTimeoutMillis = connectionTimeoutMillis;
      }
    },
  });
}

/** In the pool's own words, by which failures.ts and others know it. */
function refuse(callback: Done | undefined): Promise<never> | undefined {
  const error = new Error("timeout exceeded when trying to connect: too many wait");
  if (callback === undefined) return Promise.reject(error);
  callback(error, undefined, () => {});
  return undefined;
}
