// Faults of durable jobs, for the tasks of one service. Each database login sees only the jobs of its own services, so each
// service looks for its own.
import type { Detector, FoundFault, FaultQuery, Remedy, DetectorCall } from "./port.ts";
import { numberIn, textIn } from "./targets.ts";

/** A running job is renewed every ten seconds, and given back after forty (mixins/jobs/job-heartbeats.ts). */
const silentSeconds = 120;
const foundMax = 100;

interface Row {
  id: string;
  task: string;
  attempts: number;
  seconds: number;
}

/**
 * $1: the service's name with a dot; $2: one job, or null. Few jobs are locked or have used all attempts, so the result is small.
 */
const silentText = `select j.id, t.identifier as task, j.attempts, extract(epoch from now() - j.locked_at)::integer as seconds
  from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
  where starts_with(t.identifier, $1) and j.locked_at < now() - interval '${silentSeconds} seconds'
    and ($2::bigint is null or j.id = $2) order by j.id limit ${foundMax}`;
const spentText = `select j.id, t.identifier as task, j.attempts, extract(epoch from now() - j.updated_at)::integer as seconds
  from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
  where starts_with(t.identifier, $1) and j.attempts >= j.max_attempts and j.locked_at is null
    and ($2::bigint is null or j.id = $2) order by j.id limit ${foundMax}`;

async function findJobs(
  site: DetectorCall,
  service: string,
  text: string,
  { target }: FaultQuery,
): Promise<FoundFault[]> {
  const id = target === undefined ? null : numberIn("job", target);
  if (id === undefined) return [];
  const { rows } = await site.db.pool.query<Row>(text, [`${service}.`, id]);
  return rows.map(({ id: found, task, attempts, seconds }) => ({
    target: `job:${found}`,
    tenantId: null,
    evidence: { task, attempts, seconds },
  }));
}

/** Jobs whose lock was not renewed for two minutes. The remedy unlocks all jobs of that worker. */
export const jobWorkerGone = (service: string): Remedy => ({
  async find(site, question) {
    return { found: await findJobs(site, service, silentText, question) };
  },
  wouldDo: ({ evidence }) =>
    `Would give the job ${String(evidence["task"])}, silent for ${String(evidence["seconds"])} s, back to the queue.`,
  async heal(site, target) {
    const { rows } = await site.db.pool.query(
      `select graphile_worker.force_unlock_workers(array[locked_by]) from graphile_worker._private_jobs
       where id = $1 and locked_at < now() - interval '${silentSeconds} seconds'`,
      [numberIn("job", target) ?? 0],
    );
    return { given_back: rows.length };
  },
});

/** Jobs that have used all attempts. The remedy resets the number of attempts. */
const jobGaveUp = (service: string): Remedy => ({
  async find(site, question) {
    return { found: await findJobs(site, service, spentText, question) };
  },
  wouldDo: ({ evidence }) =>
    `Would begin the job ${String(evidence["task"])} again, which has failed ${String(evidence["attempts"])} times.`,
  async heal(site, target) {
    const { rows } = await site.db.pool.query(
      `update graphile_worker._private_jobs set attempts = 0, run_at = now()
       where id = $1 and attempts >= max_attempts and locked_at is null returning id`,
      [numberIn("job", target) ?? 0],
    );
    return { begun_again: rows.length };
  },
});

/** With the delays of the queue the fifth attempt comes after about four minutes. */
const failedTries = 5;

const jobsFailing = (service: string): Detector => ({
  async find(site, { target }) {
    const one = target === undefined ? null : (textIn("task", target) ?? "");
    const { rows } = await site.db.pool.query<{ task: string; jobs: number; tries: number; seconds: number }>(
      `select t.identifier as task, count(*)::integer as jobs, max(j.attempts)::integer as tries,
         extract(epoch from now() - min(j.created_at))::integer as seconds
       from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
       where starts_with(t.identifier, $1) and j.attempts >= ${failedTries} and j.attempts < j.max_attempts
         and j.last_error is not null and ($2::text is null or t.identifier = $2)
       group by t.identifier order by t.identifier limit ${foundMax}`,
      [`${service}.`, one],
    );
    return {
      found: rows.map(({ task, jobs, tries, seconds }) => ({
        target: `task:${task}`,
        tenantId: null,
        evidence: { task, jobs, tries, oldest_seconds: seconds },
      })),
    };
  },
});

/** A worker takes a due job within seconds, or within minutes when all workers are busy. */
const waitingMinutes = 15;

const jobsWaiting = (service: string): Detector => ({
  async find(site, { target }) {
    const one = target === undefined ? null : (textIn("task", target) ?? "");
    const { rows } = await site.db.pool.query<{ task: string; waiting: number; seconds: number }>(
      `select t.identifier as task, count(*)::integer as waiting, extract(epoch from now() - min(j.run_at))::integer as seconds
       from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
       where starts_with(t.identifier, $1) and j.locked_at is null and j.attempts < j.max_attempts
         and j.run_at < now() - interval '${waitingMinutes} minutes' and ($2::text is null or t.identifier = $2)
       group by t.identifier order by t.identifier limit ${foundMax}`,
      [`${service}.`, one],
    );
    return {
      found: rows.map(({ task, waiting, seconds }) => ({
        target: `task:${task}`,
        tenantId: null,
        evidence: { task, waiting, oldest_seconds: seconds },
      })),
    };
  },
});

/** The detectors and remedies of every service with durable jobs. */
export const jobFaults = (service: string) => ({
  jobs_waiting: jobsWaiting(service),
  jobs_failing: jobsFailing(service),
  job_worker_gone: jobWorkerGone(service),
  job_gave_up: jobGaveUp(service),
});

/** @returns keys of the task's jobs that wait or run, without those that have used all attempts; at most 10,000 */
export async function keysInQueue(site: DetectorCall, task: string): Promise<ReadonlySet<string>> {
  const { rows } = await site.db.pool.query<{ key: string }>(
    `select j.key from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
     where t.identifier = $1 and j.key is not null and j.attempts < j.max_attempts limit 10000`,
    [task],
  );
  return new Set(rows.map(({ key }) => key));
}
