// Durable jobs: a change enqueues them in its own transaction, any node that has the task runs them, and a job whose
// worker died is taken up again. Schedules only enqueue, under a key per occurrence, so that however many replicas
// have the same clock, one job runs.
import { Logger, run, type Runner, type Task } from "graphile-worker";
import type { Service, ServiceSchema } from "moleculer";
import { schedule, type ScheduledTask } from "node-cron";
import type { Runtime } from "../services/shared/runtime.ts";
import { HeldJobs } from "./held-jobs.ts";

export interface JobsOptions<S> {
  /** Tasks by name, `service.task`. They must be idempotent: after a crash a job may run again. */
  tasks: Record<string, (this: S, payload: unknown) => Promise<void>>;
  /** Cron expressions (UTC) by task. */
  schedules?: Record<string, string>;
  concurrentMax?: number;
}

const pollEveryMs = 2_000;
const attemptsMax = 12;

interface WithJobs extends Service {
  runtime: Runtime;
  /** Kept while it still starts: a start that fails elsewhere stops this service before its runner is up. */
  starting?: Promise<Runner>;
  ended?: boolean;
  clocks?: ScheduledTask[];
  held?: HeldJobs;
}

export function jobs<S = WithJobs>(options: JobsOptions<S>): Partial<ServiceSchema> {
  // Moleculer calls these on the service, which our middleware gave its runtime.
  const mixin = {
    async started(this: WithJobs): Promise<void> {
      if (this.ended) return;
      const held = new HeldJobs(this.runtime.database.pool);
      this.held = held;
      this.starting = run({
        pgPool: this.runtime.database.pool,
        concurrency: options.concurrentMax ?? 2,
        pollInterval: pollEveryMs,
        noHandleSignals: true,
        taskList: taskList(this, options, held),
        logger: quietLogger(this.runtime),
      });
      await this.starting;
      if (this.ended) return;
      held.start();
      this.clocks = Object.entries(options.schedules ?? {}).map(([task, cron]) =>
        schedule(cron, (context) => enqueueOnce(this, task, context.date), {
          timezone: "UTC",
          noOverlap: true,
        }),
      );
    },
    async stopped(this: WithJobs): Promise<void> {
      this.ended = true;
      for (const clock of this.clocks ?? []) await clock.destroy();
      // A runner that could not start has nothing to stop.
      const runner = await this.starting?.catch(() => undefined);
      await runner?.stop();
      await this.held?.stop();
    },
  };
  return mixin as Partial<ServiceSchema>;
}

function taskList<S>(service: WithJobs, options: JobsOptions<S>, held: HeldJobs): Record<string, Task> {
  return Object.fromEntries(
    Object.entries(options.tasks).map(([name, task]): [string, Task] => [
      name,
      async (payload, { job }) => {
        try {
          // The mixin's user says what `this` is; Moleculer made it that very service.
          await held.hold(job.id, () => task.call(service as unknown as S, payload));
        } catch (error) {
          service.runtime.log.warn({ task: name, err: error }, "job failed, will be tried again");
          // The queue keeps the message of a failed job: a constant one, as errors may quote what they were given.
          throw new Error(`${name} failed`, { cause: error });
        }
      },
    ]),
  );
}

async function enqueueOnce(service: WithJobs, task: string, at: Date): Promise<void> {
  const key = `${task}:${at.toISOString().slice(0, 16)}`;
  try {
    await service.runtime.database.pool.query(
      "select graphile_worker.add_job($1, job_key := $2, job_key_mode := 'unsafe_dedupe', max_attempts := $3)",
      [task, key, attemptsMax],
    );
  } catch (error) {
    service.runtime.log.warn({ task, err: error }, "schedule could not be enqueued");
  }
}

function quietLogger(runtime: Runtime): Logger {
  // Job payloads and messages of the queue are for debugging only; failures are logged by the task wrapper above.
  return new Logger(() => (level, message) => {
    if (level === "error") runtime.log.debug({ mod: "jobs" }, message);
  });
}
