// A transaction of the test's own that holds what others need, so that a race is run in a chosen order: the others begin
// while it is open, and it commits when one of them waits for it, or has not waited at all.
import pg from "pg";
import { eventually } from "./service.ts";

export interface Holder {
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Begins `work`, and commits when it waits for this transaction or is done. @returns what came of `work` */
  commitBehind<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when somebody waits for this transaction. */
  awaited(): Promise<void>;
  commit(): Promise<void>;
  /** Undoes what was not committed. */
  end(): Promise<void>;
}

/** @param url the owner's, who sees everything; the transaction is open when it resolves */
async function startHolder(url: string): Promise<Holder> {
  const [holder, watcher] = [1, 2].map(() => new pg.Client({ connectionString: url })) as [
    pg.Client,
    pg.Client,
  ];
  await Promise.all([holder.connect(), watcher.connect()]);
  const { rows } = await holder.query<{ pid: number }>("select pg_backend_pid() as pid");
  await holder.query("begin");
  const isAwaited = async () =>
    (
      await watcher.query("select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))", [
        rows[0]?.pid,
      ])
    ).rows.length > 0;
  const commit = async () => void (await holder.query("commit"));
  return {
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await holder.query<Row>(text, values)).rows,
    async commitBehind(work) {
      let isDone = false;
      const done = work().finally(() => {
        isDone = true;
      });
      // It may fail before it is waited for.
      done.catch(() => undefined);
      await eventually(async () => isDone || (await isAwaited()));
      await commit();
      return done;
    },
    awaited: async () => void (await eventually(isAwaited)),
    commit,
    async end() {
      await Promise.all([holder.end(), watcher.end()]);
    },
  };
}

/** Runs `work` with a holder that ends with it. */
export async function withHolder<T>(url: string, work: (holder: Holder) => Promise<T>): Promise<T> {
  const holder = await startHolder(url);
  try {
    return await work(holder);
  } finally {
    await holder.end();
  }
}
