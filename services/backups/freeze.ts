// Freezes one tenant while its rows are exchanged. A freeze is a row that expires after some seconds and is
// renewed while the worker lives, so the freeze of a dead worker ends by itself.
import type { Runtime } from "../../host/process/runtime.ts";
import { platform } from "../shared/database/scope.ts";
import { JobFailed } from "./job-failed.ts";
import { system } from "./job-store.ts";

const until = "clock_timestamp() + interval '15 seconds'";
const renewEveryMs = 3_000;

/** The freeze of one tenant. */
export class Freeze {
  readonly #runtime: Runtime;
  readonly #tenantId: number;
  readonly #job: string;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, tenantId: number, job: string) {
    this.#runtime = runtime;
    this.#tenantId = tenantId;
    this.#job = job;
  }

  /**
   * Starts the freeze and its renewal.
   * @throws JobFailed `still_busy` when another job has frozen the tenant
   */
  async begin(): Promise<void> {
    const frozen = await this.#runtime.database.write(platform, system, {
      name: "backups.freeze",
      text: `insert into tenant_freezes as f (tenant_id, job_id, until) values ($1, $2, ${until})
        on conflict (tenant_id) do update set job_id = excluded.job_id, until = excluded.until
          where f.job_id = excluded.job_id or f.until < clock_timestamp() returning tenant_id`,
      values: [this.#tenantId, this.#job],
    });
    if (frozen.length === 0) throw new JobFailed("still_busy");
    this.#timer = setInterval(() => {
      // A failed renewal is ignored: without the database nobody can write either.
      this.#renewing = this.#renewing.then(() => this.#renew()).catch(() => undefined);
    }, renewEveryMs);
  }

  async #renew(): Promise<void> {
    await this.#runtime.database.write(platform, system, {
      name: "backups.prolong_freeze",
      text: `update tenant_freezes set until = ${until} where tenant_id = $1 and job_id = $2`,
      values: [this.#tenantId, this.#job],
    });
  }

  /** Ends the freeze. Idempotent, also when it never began. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    await this.#runtime.database.write(platform, system, {
      name: "backups.unfreeze",
      text: "delete from tenant_freezes where tenant_id = $1 and job_id = $2",
      values: [this.#tenantId, this.#job],
    });
  }
}
