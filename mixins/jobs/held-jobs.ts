// graphile-worker gives up a job whose worker died only after four hours. So whoever runs one says every ten seconds that
// it still does, and a job of which nobody has said so for half a minute is given back to all.
import type { Database } from "../../services/shared/database/database.ts";

const sayEveryMs = 10_000;
const deadSeconds = 30;

export class HeldJobs {
  readonly #pool: Database["pool"];
  readonly #ids = new Set<string>();
  /** Found silent at the last look. After an outage all are: they are given ten seconds to speak up. */
  #silent: readonly string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(pool: Database["pool"]) {
    this.#pool = pool;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look()
        // The database is away: nothing can be held or given back.
        .catch(() => undefined)
        .finally(() => {
          this.#looking = undefined;
        });
    }, sayEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** Runs a job as one that is held until its end. */
  async hold(id: string, work: () => Promise<void>): Promise<void> {
    this.#ids.add(id);
    try {
      await work();
    } finally {
      this.#ids.delete(id);
    }
  }

  async #look(): Promise<void> {
    if (this.#ids.size > 0)
      await this.#pool.query(
        "update graphile_worker._private_jobs set locked_at = now() where id = any($1::bigint[]) and locked_at is not null",
        [[...this.#ids]],
      );
    const { rows } = await this.#pool.query<{ locked_by: string }>(
      `select distinct locked_by from graphile_worker._private_jobs
       where locked_at < now() - interval '${deadSeconds} seconds' limit 100`,
    );
    const silent = rows.map(({ locked_by: worker }) => worker);
    const dead = silent.filter((worker) => this.#silent.includes(worker));
    this.#silent = silent;
    if (dead.length > 0)
      await this.#pool.query("select graphile_worker.force_unlock_workers($1::text[])", [dead]);
  }
}
