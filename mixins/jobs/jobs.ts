// Durable jobs: a change enqueues a job in its own transaction, any node that has the task runs it, and the job of a worker that
// died is run again. A schedule only enqueues. The database accepts each occurrence once (migrations/0023): so one job runs,
// however many replicas there are and however much their clocks differ.
import { randomUUID } from "node:crypto";
import type { Task, TaskList } from "graphile-worker";
import type { Service, ServiceSchema } from "moleculer";
import { implement } from "../../services/shared/bus/bus.ts";
import { listJobs, listJobsContract } from "./job-list.ts";
import { separateOrigin } from "../../services/shared/job-origin.ts";
import { runInContext, runWithSpan } from "../../services/shared/tracing.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Config } from "../../host/settings/settings.ts";
import { type RunWithHeartbeat, jobRunnerOf } from "./job-runner.ts";
import { eachOccurrence, type WallClock, wallClock } from "./occurrences.ts";

export interface JobsOptions<S> {
  /** Tasks by name, `service.task`. They must be idempotent: after a crash a job may run again. */
  tasks: Record<string, (this: S, payload: unknown) => Promise<void>>;
  /** Cron expressions (UTC) by task. One that follows from settings may be undefined: then the task is not scheduled. */
  schedules?: Record<string, string | ((config: Config) => string | undefined)>;
  /** Tasks of which only one job runs at a time, over all processes. */
  serial?: readonly string[];
  /**
   * Tasks that also run some seconds after the service has started. The delay leaves the time of the start to the start itself.
   */
  atStart?: readonly string[];
  /** The number of jobs at a time, in a runner apart from the other services. Absent: the shared runner. */
  concurrentMax?: number;
}

const attemptsMax = 12;
const afterStartMs = 5_000;

interface WithJobs extends Service {
  runtime: Runtime;
  ended?: boolean;
  /** Ends the schedules. */
  schedulesEnd?: AbortController;
  schedules?: Promise<unknown>;
  startTimer?: NodeJS.Timeout;
}

/**
 * The mixin for a service with durable jobs: it runs the tasks, enqueues the schedules, and adds an action that lists the jobs.
 */
export function jobs<S = WithJobs>(
  options: JobsOptions<S>,
  clock: WallClock = wallClock,
): Partial<ServiceSchema> {
  // Moleculer calls these functions on the service, to which our middleware has added the runtime.
  const mixin = {
    actions: listAction(options.tasks),
    started(this: WithJobs): void {
      if (this.ended) return;
      const runner = jobRunnerOf(this.runtime);
      runner.add(taskList(this, options, runner.runWithHeartbeat), options.concurrentMax);
      const queueOf = (task: string) => (options.serial?.includes(task) ? task : null);
      const { signal } = (this.schedulesEnd = new AbortController());
      const schedules = Object.entries(options.schedules ?? {}).map(async ([task, given]) => {
        const cron = typeof given === "string" ? given : given(this.runtime.config);
        if (cron === undefined) return;
        await eachOccurrence(cron, clock, signal, (at) => enqueueDue(this, task, at, queueOf(task)));
      });
      this.schedules = Promise.all(schedules);
      const { atStart = [] } = options;
      if (atStart.length === 0) return;
      this.startTimer = setTimeout(() => {
        for (const task of atStart) void enqueueAtStart(this, task, queueOf(task));
      }, afterStartMs);
    },
    async stopped(this: WithJobs): Promise<void> {
      this.ended = true;
      clearTimeout(this.startTimer);
      // After a failed start Moleculer also stops services that were never started.
      if (this.schedulesEnd === undefined) return;
      this.schedulesEnd.abort();
      await this.schedules;
      await jobRunnerOf(this.runtime).stop();
    },
  };
  return mixin as Partial<ServiceSchema>;
}

/** The action that lists the service's own jobs, for operators. */
function listAction(tasks: Record<string, unknown>): NonNullable<ServiceSchema["actions"]> {
  const [service = ""] = Object.keys(tasks)[0]?.split(".") ?? [];
  const name = `${service}.list_jobs` as const;
  return implement({ [name]: listJobsContract }, { [name]: (call) => listJobs(call, service) });
}

function taskList<S>(service: WithJobs, options: JobsOptions<S>, hold: RunWithHeartbeat): TaskList {
  return Object.fromEntries(
    Object.entries(options.tasks).map(([name, task]): [string, Task] => [
      name,
      async (payload, { job }) => {
        const startedAt = performance.now();
        let outcome: "ok" | "failed" = "ok";
        try {
          // The type parameter says what `this` is, and Moleculer calls the mixin on that very service.
          const work = (given: unknown) => task.call(service as unknown as S, given);
          await hold(job.id, () => runInTrace(service.runtime, name, job.attempts, payload, work));
        } catch (error) {
          outcome = "failed";
          service.runtime.log.warn({ task: name, err: error }, "job failed, will be tried again");
          // The queue stores the message of a failed job. It is constant, because errors may quote their input.
          throw new Error(`${name} failed`, { cause: error });
        } finally {
          service.runtime.metrics?.job(name, outcome, (performance.now() - startedAt) / 1000);
        }
      },
    ]),
  );
}

/** Runs the job in the trace of the request that enqueued it. A scheduled job starts a new trace. */
function runInTrace(
  { tracing: { tracer } }: Runtime,
  name: string,
  attempt: number,
  payload: unknown,
  work: (given: unknown) => Promise<void>,
): Promise<void> {
  const { given, origin } = separateOrigin(payload);
  const facts = { "records.attempt": attempt };
  const span =
    origin.traceparent === undefined
      ? tracer?.begin(name, "consumer", facts)
      : tracer?.continue(origin.traceparent, name, "consumer", facts);
  const { requestId = randomUUID() } = origin;
  return span === undefined
    ? runInContext({ requestId, span }, () => work(given))
    : runWithSpan({ requestId, span }, () => work(given));
}

/** @param queue jobs of the same queue run one after the other @returns whether the database has enqueued it */
function enqueueDue(service: WithJobs, task: string, due: Date, queue: string | null): Promise<boolean> {
  return enqueue(service, task, "select add_due_task($1, $2, $3, $4)", [task, due, attemptsMax, queue]);
}

/** Processes that start together enqueue one job, unless it has finished before the next process starts. */
function enqueueAtStart(service: WithJobs, task: string, queue: string | null): Promise<boolean> {
  const text = `select add_task($1, job_key := $2, job_key_mode := 'unsafe_dedupe', max_attempts := $3, queue_name := $4)`;
  return enqueue(service, task, text, [task, `${task}:start`, attemptsMax, queue]);
}

async function enqueue(service: WithJobs, task: string, text: string, values: unknown[]): Promise<boolean> {
  try {
    await service.runtime.database.pool.query(text, values);
    return true;
  } catch (error) {
    service.runtime.log.warn({ task, err: error }, "schedule could not be enqueued");
    return false;
  }
}
