// Metrics of durable jobs: how many jobs of this process's tasks wait, run, and have used all attempts. Each database login sees
// only the jobs of its own services.
import type { MetricSample } from "../../services/shared/cached-samples.ts";
import type { Runtime } from "../../host/process/runtime.ts";

/** Counting stops here: a larger number says nothing more. */
const countedMax = 50_000;

const gauges = {
  records_jobs: {
    help: "Durable jobs by task and state: waiting (due or not yet), running, failed (all tries are spent); of the first 50000",
    labels: ["task", "state"],
  },
  records_jobs_oldest_age_seconds: {
    help: "How long the job that is due for longest is due, by task; 0 where none is",
    labels: ["task"],
  },
} as const;

type Name = keyof typeof gauges;

interface Row {
  task: string;
  waiting: number;
  running: number;
  failed: number;
  oldest: number;
}

/** $1: the tasks. Each of them gets a row, also with no job. */
const text = `select a.task, count(*) filter (where j.locked_at is null and j.attempts < j.max_attempts)::integer as waiting,
    count(*) filter (where j.locked_at is not null)::integer as running,
    count(*) filter (where j.locked_at is null and j.attempts >= j.max_attempts)::integer as failed,
    coalesce(greatest(extract(epoch from now() - min(j.run_at)
      filter (where j.locked_at is null and j.attempts < j.max_attempts)), 0), 0)::float8 as oldest
  from unnest($1::text[]) a (task) left join graphile_worker._private_tasks t on t.identifier = a.task
    left join (select task_id, locked_at, attempts, max_attempts, run_at from graphile_worker._private_jobs
      limit ${countedMax}) j on j.task_id = t.id
  group by a.task`;

/** @param tasks the tasks of this process; more may be added later */
export function watchJobs(runtime: Runtime, tasks: ReadonlySet<string>): void {
  runtime.metrics?.sample("jobs", gauges, async () => {
    const { rows } = await runtime.database.pool.query<Row>(text, [[...tasks]]);
    return rows.flatMap(({ task, oldest, ...counts }): MetricSample<Name>[] => [
      ...(["waiting", "running", "failed"] as const).map(
        (state): MetricSample<Name> => ({
          name: "records_jobs",
          labels: { task, state },
          value: counts[state],
        }),
      ),
      { name: "records_jobs_oldest_age_seconds", labels: { task }, value: oldest },
    ]);
  });
}
