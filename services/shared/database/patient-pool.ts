// The pool as graphile-worker is given it. It says that a job has ended without waiting for the answer, and tries again only
// after errors of a few codes; any other that a restart of PostgreSQL brings at that moment would be a rejection that nobody
// handles, and end the process. So what means "not just now" has the code that graphile-worker waits for, cannot_connect_now. Saying it twice does no harm.
import type pg from "pg";
import { errorCode } from "../start-error.ts";
import { isLostDatabase } from "../failures.ts";
import { sqlStates } from "./sql-states.ts";

type OnConnect = Parameters<pg.Pool["connect"]>[0];

export function patientPool(pool: pg.Pool): pg.Pool {
  // By a callback it asks for the connection that it listens on, and looks after that one by itself.
  return over(pool, "connect", async (callback?: OnConnect) =>
    callback === undefined ? patientClient(await waiting(pool.connect())) : pool.connect(callback),
  );
}

function patientClient(client: pg.PoolClient): pg.PoolClient {
  // The driver's overloads answer a promise wherever no callback is given, and graphile-worker gives none.
  return over(client, "query", (...args: Parameters<pg.PoolClient["query"]>) =>
    waiting(client.query(...args) as unknown as Promise<unknown>),
  );
}

/** The same object but for one method; all else runs on the object itself. */
function over<T extends object>(target: T, name: keyof T, method: unknown): T {
  return new Proxy(target, {
    get(_, key) {
      if (key === name) return method;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function waiting<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!isLostDatabase(error) || errorCode(error) === sqlStates.cannotConnectNow) throw error;
    throw Object.assign(new Error("the database is away", { cause: error }), {
      code: sqlStates.cannotConnectNow,
    });
  }
}
