// Places where a test stops a job, so that what it does there happens at that very step: a lock that the job needs, held by
// the test, or a request to the store that the proxy in front of it keeps.
import pg from "pg";
import type { Decide, FaultyProxy } from "../../unit/mixins/store/faulty-proxy.ts";
import { eventually } from "../../support/service.ts";

const reachMsMax = 60_000;

export interface Gate {
  /** Resolves when somebody stands before it. */
  reached(): Promise<void>;
  /** Lets go; safe to call twice. */
  open(): Promise<void>;
}

/** @param statement that takes the lock; in a transaction of a connection of its own, as the database's owner */
export async function holdLock(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Gate> {
  const client = new pg.Client({ connectionString: url });
  // A crash of the server ends it too.
  client.on("error", () => {});
  await client.connect();
  await client.query("begin");
  await client.query(statement, [...values]);
  let open = false;
  return {
    async reached() {
      // Not of pg_stat_activity, which a transaction sees as it was at its first look.
      const waiting =
        "select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
      await eventually(async () => (await client.query(waiting)).rowCount !== 0, reachMsMax);
    },
    async open() {
      if (open) return;
      open = true;
      await client.query("rollback").catch(() => undefined);
      await client.end().catch(() => undefined);
    },
  };
}

export interface RequestGate extends Gate {
  /** What becomes of the request that waits, and of all that follow until the proxy is told otherwise. */
  spoil(by: Decide): void;
  /** For whoever stands between the proxy and this gate. */
  decide: Decide;
}

/** Holds the nth request whose line matches; those before it pass. */
export function holdRequest(proxy: FaultyProxy, wanted: RegExp, nth = 1): RequestGate {
  const held = Promise.withResolvers<Decide>();
  const arrived = Promise.withResolvers<void>();
  let after: Decide | undefined;
  let seen = 0;
  const decide: Decide = async (line) => {
    if (after !== undefined) return after(line);
    if (!wanted.test(line) || ++seen !== nth) return "none";
    arrived.resolve();
    return (await held.promise)(line);
  };
  proxy.spoil(decide);
  return {
    reached: () =>
      Promise.race([
        arrived.promise,
        new Promise<never>((_resolve, reject) =>
          setTimeout(() => reject(new Error(`no ${wanted} within ${reachMsMax} ms`)), reachMsMax).unref(),
        ),
      ]),
    open: async () => held.resolve(() => "none"),
    spoil(by) {
      after = by;
      held.resolve(by);
    },
    decide,
  };
}

/** As if the job's worker had been silent for long: it is anybody's, at once. */
export async function giveBack(owner: pg.Client, jobId: string): Promise<void> {
  await owner.query("update backup_jobs set leased_until = now() - interval '1 second' where id = $1", [
    jobId,
  ]);
  await owner.query(
    `update graphile_worker._private_jobs set locked_at = null, locked_by = null, run_at = now()
     where key = 'backups.run:' || $1`,
    [jobId],
  );
}

/** Waits for a job's end without the pauses between its tries. */
export async function endedSoon(owner: pg.Client, jobId: string, msMax = 60_000): Promise<EndedRow> {
  return eventually(async () => {
    await owner.query(
      "update backup_jobs set leased_until = null where id = $1 and leased_by is null and leased_until > now()",
      [jobId],
    );
    await owner.query(
      // Not while a lease lasts: each look at it is one of the queue's attempts.
      `update graphile_worker._private_jobs g set run_at = now() from backup_jobs j
       where g.key = 'backups.run:' || j.id and j.id = $1 and g.locked_at is null and g.run_at > now()
         and coalesce(j.leased_until, now()) <= now()`,
      [jobId],
    );
    const { rows } = await owner.query<EndedRow>(
      `select status, error_code, error, tries, safety_backup_id from backup_jobs
       where id = $1 and finished_at is not null`,
      [jobId],
    );
    return rows[0];
  }, msMax);
}

export interface EndedRow {
  status: "succeeded" | "failed";
  error_code: string | null;
  error: string | null;
  tries: number;
  safety_backup_id: string | null;
}

/** Ends a server process of its own as the kernel does when memory runs out: PostgreSQL restarts all of them and recovers. */
export async function crashPostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  const { rows } = await client.query<{ pid: number; started: string }>(
    "select pg_backend_pid() as pid, pg_postmaster_start_time()::text as started",
  );
  process.kill(rows[0]?.pid ?? 0, "SIGKILL");
  await eventually(async () => {
    const again = new pg.Client({ connectionString: url });
    again.on("error", () => {});
    try {
      await again.connect();
      await again.query("select 1");
      return true;
    } catch {
      return false;
    } finally {
      await again.end().catch(() => undefined);
    }
  });
}
