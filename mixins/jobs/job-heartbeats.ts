// graphile-worker gives up a job of a dead worker only after four hours. Therefore a process renews the lock of each running job
// every ten seconds, and a job that was not renewed for half a minute is given back to the queue.
import type { Database } from "../../services/shared/database/database.ts";

const heartbeatEveryMs = 10_000;
const silentSecondsMax = 30;

/** The running jobs of this process. It also unlocks the jobs of workers that no longer renew theirs. */
export class JobHeartbeats {
  readonly #pool: Database["pool"];
  readonly #ids = new Set<string>();
  /** Workers found silent at the last check. After an outage all are silent, so each gets ten more seconds to renew. */
  #silent: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  constructor(pool: Database["pool"]) {
    this.#pool = pool;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#beating ??= this.#beat()
        // The database is unreachable: no lock can be renewed or given back now.
        .catch(() => undefined)
        .finally(() => {
          this.#beating = undefined;
        });
    }, heartbeatEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
  }

  /** Runs a job, and renews its lock until it ends. */
  async runHeld(id: string, work: () => Promise<void>): Promise<void> {
    this.#ids.add(id);
    try {
      await work();
    } finally {
      this.#ids.delete(id);
    }
  }

  async #beat(): Promise<void> {
    if (this.#ids.size > 0)
      await this.#pool.query(
        "update graphile_worker._private_jobs set locked_at = now() where id = any($1::bigint[]) and locked_at is not null",
        [[...this.#ids]],
      );
    const { rows } = await this.#pool.query<{ locked_by: string }>(
      `select distinct locked_by from graphile_worker._private_jobs
       where locked_at < now() - interval '${silentSecondsMax} seconds' limit 100`,
    );
    const silent = rows.map(({ locked_by: worker }) => worker);
    const dead = silent.filter((worker) => this.#silent.includes(worker));
    this.#silent = silent;
    if (dead.length > 0)
      await this.#pool.query("select graphile_worker.force_unlock_workers($1::text[])", [dead]);
  }
}
