// The one place where the pool's `connect` is replaced. Who asks for a connection is refused at once while PostgreSQL does not
// answer (server-silence.ts). A pool that is full is overload: a caller waits a moment (DATABASE_POOL_WAIT_MS), and is 503 then.
// Waiting longer would only move the queue from the gateway, which refuses at once what is too much, to here, where clients
// give up meanwhile.
import type pg from "pg";
import type { ServerSilence } from "./server-silence.ts";

const waitingMax = 1_000;

type Done = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

/** @param waitMsMax less than making a new connection may take (connect.ts) */
export function guardPool(pool: pg.Pool, silence: ServerSilence, waitMsMax: number): void {
  const connect = pool.connect.bind(pool);
  // By a callback too: so asks the pool's own `query`.
  const guarded = (callback?: Done) => {
    const isFull = pool.idleCount === 0 && pool.totalCount >= pool.options.max;
    const refusal = silence.refusal() ?? (isFull && pool.waitingCount >= waitingMax ? tooMany() : undefined);
    if (callback !== undefined) {
      if (refusal !== undefined) return queueMicrotask(() => callback(refusal, undefined, () => {}));
      return waitingAtMost(isFull ? waitMsMax : undefined, pool, () => connect(callback));
    }
    if (refusal !== undefined) return Promise.reject(refusal);
    return silence.watch(waitingAtMost(isFull ? waitMsMax : undefined, pool, () => connect()));
  };
  // The driver declares the two ways to ask as overloads, which one function cannot be seen to have.
  Object.assign(pool, { connect: guarded });
}

/** The pool reads its option as it puts the caller into its queue, before `connect` returns. */
function waitingAtMost<T>(ms: number | undefined, pool: pg.Pool, ask: () => T): T {
  if (ms === undefined) return ask();
  const { connectionTimeoutMillis } = pool.options;
  pool.options.connectionTimeoutMillis = ms;
  try {
    return ask();
  } finally {
    pool.options.connectionTimeoutMillis = connectionTimeoutMillis;
  }
}

/** In the pool's own words, by which failures.ts and others know it. */
const tooMany = () => new Error("timeout exceeded when trying to connect: too many wait");
