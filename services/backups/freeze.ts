// Keeping everybody out of one tenant for as long as its rows are exchanged. The freeze is a row for some seconds, prolonged
// while the worker lives: one that dies lets go by itself.
import type { Runtime } from "../../host/process/runtime.ts";
import { platform } from "../shared/database/scope.ts";
import { JobFailed } from "./job-failed.ts";
import { system } from "./job-store.ts";

const until = "clock_timestamp() + interval '15 seconds'";
const prolongEveryMs = 3_000;

export class Freeze {
  readonly #runtime: Runtime;
  readonly #tenantId: number;
  readonly #job: string;
  #timer: NodeJS.Timeout | undefined;
  #prolonging: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, tenantId: number, job: string) {
    this.#runtime = runtime;
    this.#tenantId = tenantId;
    this.#job = job;
  }

  /** @throws JobFailed when another job holds the tenant */
  async begin(): Promise<void> {
    const held = await this.#runtime.database.write(platform, system, {
      name: "backups.freeze",
      text: `insert into tenant_freezes as f (tenant_id, job_id, until) values ($1, $2, ${until})
        on conflict (tenant_id) do update set job_id = excluded.job_id, until = excluded.until
          where f.job_id = excluded.job_id or f.until < clock_timestamp() returning tenant_id`,
      values: [this.#tenantId, this.#job],
    });
    if (held.length === 0) throw new JobFailed("still_busy");
    this.#timer = setInterval(() => {
      // Without the database nobody comes in either.
      this.#prolonging = this.#prolonging.then(() => this.#prolong()).catch(() => undefined);
    }, prolongEveryMs);
  }

  async #prolong(): Promise<void> {
    await this.#runtime.database.write(platform, system, {
      name: "backups.prolong_freeze",
      text: `update tenant_freezes set until = ${until} where tenant_id = $1 and job_id = $2`,
      values: [this.#tenantId, this.#job],
    });
  }

  /** Safe to call twice, and when the freeze never began. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#prolonging;
    await this.#runtime.database.write(platform, system, {
      name: "backups.unfreeze",
      text: "delete from tenant_freezes where tenant_id = $1 and job_id = $2",
      values: [this.#tenantId, this.#job],
    });
  }
}
