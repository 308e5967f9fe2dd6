// Durable jobs: a change enqueues them in its own transaction, any node that has the task runs them, and a job whose
// worker died is taken up again. Schedules only enqueue, and the database takes each occurrence once (migrations/0023): so
// one job runs, however many replicas there are, and however far apart their clocks.
import { randomUUID } from "node:crypto";
import type { Task, TaskList } from "graphile-worker";
import type { Service, ServiceSchema } from "moleculer";
import { implement } from "../../services/shared/bus/bus.ts";
import { listJobs, listJobsContract } from "./job-list.ts";
import { apart } from "../../services/shared/job-origin.ts";
import { follow, within } from "../../services/shared/tracing.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Config } from "../../host/settings/settings.ts";
import { type Hold, jobRunnerOf } from "./job-runner.ts";
import { eachOccurrence, type WallClock, wallClock } from "./occurrences.ts";

export interface JobsOptions<S> {
  /** Tasks by name, `service.task`. They must be idempotent: after a crash a job may run again. */
  tasks: Record<string, (this: S, payload: unknown) => Promise<void>>;
  /** Cron expressions (UTC) by task; some follow from settings, which may also say never (undefined). */
  schedules?: Record<string, string | ((config: Config) => string | undefined)>;
  /** Tasks of which one job runs at a time, over all processes. */
  serial?: readonly string[];
  /** Tasks that are also due some seconds after the service started: what is done at the start itself is done then. */
  atStart?: readonly string[];
  /** So many at a time beside those of the other services, not among them. */
  concurrentMax?: number;
}

const attemptsMax = 12;
const afterStartMs = 5_000;

interface WithJobs extends Service {
  runtime: Runtime;
  ended?: boolean;
  /** Ends the schedules. */
  clocks?: AbortController;
  ticking?: Promise<unknown>;
  starting?: NodeJS.Timeout;
}

export function jobs<S = WithJobs>(
  options: JobsOptions<S>,
  clock: WallClock = wallClock,
): Partial<ServiceSchema> {
  // Moleculer calls these on the service, which our middleware gave its runtime.
  const mixin = {
    actions: listing(options.tasks),
    started(this: WithJobs): void {
      if (this.ended) return;
      const runner = jobRunnerOf(this.runtime);
      runner.add(taskList(this, options, runner.hold), options.concurrentMax);
      const queueOf = (task: string) => (options.serial?.includes(task) ? task : null);
      const { signal } = (this.clocks = new AbortController());
      const schedules = Object.entries(options.schedules ?? {}).map(async ([task, given]) => {
        const cron = typeof given === "string" ? given : given(this.runtime.config);
        if (cron === undefined) return;
        await eachOccurrence(cron, clock, signal, (at) => enqueueDue(this, task, at, queueOf(task)));
      });
      this.ticking = Promise.all(schedules);
      const { atStart = [] } = options;
      if (atStart.length === 0) return;
      this.starting = setTimeout(() => {
        for (const task of atStart) void enqueueAtStart(this, task, queueOf(task));
      }, afterStartMs);
    },
    async stopped(this: WithJobs): Promise<void> {
      this.ended = true;
      clearTimeout(this.starting);
      // A start that failed elsewhere stops services that were never started.
      if (this.clocks === undefined) return;
      this.clocks.abort();
      await this.ticking;
      await jobRunnerOf(this.runtime).stop();
    },
  };
  return mixin as Partial<ServiceSchema>;
}

/** The service's own jobs, for operators. */
function listing(tasks: Record<string, unknown>): NonNullable<ServiceSchema["actions"]> {
  const [service = ""] = Object.keys(tasks)[0]?.split(".") ?? [];
  const name = `${service}.list_jobs` as const;
  return implement({ [name]: listJobsContract }, { [name]: (call) => listJobs(call, service) });
}

function taskList<S>(service: WithJobs, options: JobsOptions<S>, hold: Hold): TaskList {
  return Object.fromEntries(
    Object.entries(options.tasks).map(([name, task]): [string, Task] => [
      name,
      async (payload, { job }) => {
        const startedAt = performance.now();
        let outcome: "ok" | "failed" = "ok";
        try {
          // The mixin's user says what `this` is; Moleculer made it that very service.
          const work = (given: unknown) => task.call(service as unknown as S, given);
          await hold(job.id, () => trailedJob(service.runtime, name, job.attempts, payload, work));
        } catch (error) {
          outcome = "failed";
          service.runtime.log.warn({ task: name, err: error }, "job failed, will be tried again");
          // The queue keeps the message of a failed job: a constant one, as errors may quote what they were given.
          throw new Error(`${name} failed`, { cause: error });
        } finally {
          service.runtime.metrics?.job(name, outcome, (performance.now() - startedAt) / 1000);
        }
      },
    ]),
  );
}

/** In the trace of whoever set it off; a job of the clock begins one of its own. */
function trailedJob(
  { tracing: { tracer } }: Runtime,
  name: string,
  attempt: number,
  payload: unknown,
  work: (given: unknown) => Promise<void>,
): Promise<void> {
  const { given, origin } = apart(payload);
  const facts = { "records.attempt": attempt };
  const span =
    origin.traceparent === undefined
      ? tracer?.begin(name, "consumer", facts)
      : tracer?.goOn(origin.traceparent, name, "consumer", facts);
  const { requestId = randomUUID() } = origin;
  return span === undefined
    ? follow({ requestId, span }, () => work(given))
    : within({ requestId, span }, () => work(given));
}

/** @param queue jobs of one run one after the other @returns whether the database has had it */
function enqueueDue(service: WithJobs, task: string, due: Date, queue: string | null): Promise<boolean> {
  return enqueue(service, task, "select add_due_task($1, $2, $3, $4)", [task, due, attemptsMax, queue]);
}

/** Processes that start together have it done once, unless it is done before the next of them has started. */
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
