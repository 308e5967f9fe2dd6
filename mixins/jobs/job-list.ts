// Lists the durable jobs of one service, for operators. Each database login sees only the jobs of its own services, so each
// service lists its own. No HTTP route leads to this action, and no payload is shown.
import { allow } from "../../services/shared/access.ts";
import type { ActionContract, Call } from "../../services/shared/bus/bus.ts";
import { Forbidden } from "../../services/shared/errors.ts";
import { nullable, optional } from "../../services/shared/params/modifiers.ts";
import { object, timestamp } from "../../services/shared/params/results.ts";
import { integer, listOf, oneOf, text } from "../../services/shared/params/rules.ts";
import type { ValueOf } from "../../services/shared/params/types.ts";
import { ownTenant } from "../../services/shared/administered-scope.ts";
import { toIso } from "../../services/shared/wire.ts";

const jobsMax = 100;

/** failing: has failed and will be tried again; failed: all attempts are used. */
export const jobStates = ["waiting", "running", "failing", "failed"] as const;

const jobShape = object({
  id: text(),
  task: text(),
  state: oneOf(jobStates),
  attempts: integer(),
  due_at: timestamp(),
  running_since: nullable(timestamp()),
});

export const listJobsContract = {
  summary: "The service's durable jobs, the oldest first (operators, from the REPL).",
  audits: "job.list",
  access: allow("superadmin"),
  query: { state: optional(oneOf(jobStates)) },
  result: object({ items: listOf(jobShape) }),
} as const satisfies ActionContract;

export type ListedJob = ValueOf<typeof jobShape>;

const stateOf = `case when j.locked_at is not null then 'running' when j.attempts >= j.max_attempts then 'failed'
  when j.attempts > 0 then 'failing' else 'waiting' end`;

/** @throws Forbidden for users of a tenant, also for superadmins: only operators may call it */
export async function listJobs(
  call: Call<{ state?: ListedJob["state"] }>,
  service: string,
): Promise<{ items: ListedJob[] }> {
  if (ownTenant(call.caller) !== undefined) throw new Forbidden();
  const { rows } = await call.db.pool.query<ListedJob>(
    `select * from (select j.id::text as id, t.identifier as task, ${stateOf} as state, j.attempts::integer,
         j.run_at::timestamptz(3)::text as due_at, j.locked_at::timestamptz(3)::text as running_since
       from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
       where starts_with(t.identifier, $1)) jobs
     where $2::text is null or state = $2 order by id::bigint limit ${jobsMax}`,
    [`${service}.`, call.params.state ?? null],
  );
  return {
    items: rows.map((row) => ({
      ...row,
      due_at: toIso(row.due_at),
      running_since: row.running_since === null ? null : toIso(row.running_since),
    })),
  };
}
