// The pool that is given to graphile-worker. graphile-worker reports the end of a job without awaiting the answer, and tries
// again only for a few error codes. Any other error during a restart of PostgreSQL would be an unhandled rejection and end the
// process. Therefore all errors of a lost connection get the code that graphile-worker retries (cannot_connect_now). To report
// the end of a job twice does no harm.
import type pg from "pg";
import { errorCode } from "../start-error.ts";
import { isLostDatabase } from "../failures.ts";
import { sqlStates } from "./sql-states.ts";

type OnConnect = Parameters<pg.Pool["connect"]>[0];

/** @param pool the pool of the process; it is not changed */
export function retryablePool(pool: pg.Pool): pg.Pool {
  // With a callback graphile-worker asks for its listening connection, and handles the errors of that one itself.
  return withMethod(pool, "connect", async (callback?: OnConnect) =>
    callback === undefined ? retryableClient(await asRetryable(pool.connect())) : pool.connect(callback),
  );
}

function retryableClient(client: pg.PoolClient): pg.PoolClient {
  // Without a callback the driver's overloads return a promise, and graphile-worker never passes one.
  return withMethod(client, "query", (...args: Parameters<pg.PoolClient["query"]>) =>
    asRetryable(client.query(...args) as unknown as Promise<unknown>),
  );
}

/** The same object with one method replaced; all other methods run on the object itself. */
function withMethod<T extends object>(target: T, name: keyof T, method: unknown): T {
  return new Proxy(target, {
    get(_, key) {
      if (key === name) return method;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function asRetryable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!isLostDatabase(error) || errorCode(error) === sqlStates.cannotConnectNow) throw error;
    throw Object.assign(new Error("the database is away", { cause: error }), {
      code: sqlStates.cannotConnectNow,
    });
  }
}
