// Runs the durable jobs of all services of a process. They share one runner, because each runner of graphile-worker keeps a
// connection of the pool to listen on: with a runner per service few connections were left for requests.
import { EventEmitter } from "node:events";
import { Logger, run, type Runner, type TaskList, type WorkerEvents } from "graphile-worker";
import { retryablePool } from "../../services/shared/database/retryable-pool.ts";
import { levelsOf } from "../../services/shared/log-levels.ts";
import { pause } from "../../services/shared/pause.ts";
import { perRuntime } from "../../services/shared/per-runtime.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { watchJobs } from "./job-metrics.ts";
import { JobHeartbeats } from "./job-heartbeats.ts";

const pollEveryMs = 2_000;
/** Shared by all services that set no number of their own. */
const concurrentMax = 8;
/** Services start within a moment of each other. Tasks that are added later get a runner of their own. */
const collectMs = 50;
const restartDelayMs = 1_000;

export type RunWithHeartbeat = JobHeartbeats["runHeld"];

/** Runs the tasks that services add, and restarts graphile-worker when it ends by itself. */
export class JobRunner {
  readonly #runtime: Runtime;
  readonly #heartbeats: JobHeartbeats;
  readonly #logger: Logger;
  readonly #ending = new AbortController();
  readonly #tasks = new Set<string>();
  #collected: TaskList | undefined;
  readonly #runs: Promise<void>[] = [];
  #stopped: Promise<void> | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#logger = quietLogger(runtime);
    this.#heartbeats = new JobHeartbeats(runtime.database.pool);
    this.#heartbeats.start();
    watchJobs(runtime, this.#tasks);
  }

  /** Runs a task and renews the lock of its job meanwhile. */
  readonly runWithHeartbeat: RunWithHeartbeat = (id, work) => this.#heartbeats.runHeld(id, work);

  /** @param ownConcurrentMax for tasks that should neither delay the others nor wait for them: they get a runner of their own */
  add(tasks: TaskList, ownConcurrentMax?: number): void {
    for (const name of Object.keys(tasks)) this.#tasks.add(name);
    if (ownConcurrentMax !== undefined) {
      this.#runs.push(this.#run(Promise.resolve(tasks), ownConcurrentMax));
    } else if (this.#collected !== undefined) {
      Object.assign(this.#collected, tasks);
    } else {
      this.#collected = { ...tasks };
      this.#runs.push(this.#run(this.#collect(), concurrentMax));
    }
  }

  /** Resolves when no job of this process runs any more. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      this.#ending.abort();
      await Promise.all(this.#runs);
      await this.#heartbeats.stop();
    })();
    return this.#stopped;
  }

  async #collect(): Promise<TaskList> {
    await pause(collectMs, this.#ending.signal);
    const collected = this.#collected ?? {};
    this.#collected = undefined;
    return collected;
  }

  /** Runs until stopped: the database may be unreachable for long, and a runner that has ended by itself is replaced. */
  async #run(collecting: Promise<TaskList>, concurrency: number): Promise<void> {
    const taskList = await collecting;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        const runner = await run({
          pgPool: retryablePool(this.#runtime.database.pool),
          concurrency,
          pollInterval: pollEveryMs,
          noHandleSignals: true,
          taskList,
          events: ignoreMigrationNotices(),
          logger: this.#logger,
        });
        await endOf(runner, signal);
        if (signal.aborted) return;
        this.#runtime.log.warn("the job runner ended by itself and is started again");
      } catch (error) {
        this.#runtime.log.warn({ err: error }, "the job runner could not be started, will be tried again");
      }
      await pause(restartDelayMs, signal);
    }
  }
}

/** Resolves when the runner has ended, by itself or after the signal, and none of its jobs runs any more. */
async function endOf(runner: Runner, signal: AbortSignal): Promise<void> {
  // `stop` rejects when the runner has ended already.
  const stop = () => void runner.stop().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    await runner.promise;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/**
 * graphile-worker stops for good when it gets a notification that its schema is being migrated. Any login of the database may
 * send that notification, and a single one would stop the jobs of all processes. Therefore it is ignored. Our own migrations
 * decide which versions of the program run side by side, and `run` itself rejects a schema that it does not know.
 */
function ignoreMigrationNotices(): WorkerEvents {
  const events: WorkerEvents = new EventEmitter();
  // This listener runs before graphile-worker reads the message, in the same turn of the event loop.
  events.on("pool:listen:notification", ({ message }) => {
    if (message.channel === "worker:migrate") message.channel = "";
  });
  return events;
}

/** The job runner of a process, created at its first use. */
export const jobRunnerOf = perRuntime((runtime) => new JobRunner(runtime));

function quietLogger(runtime: Runtime): Logger {
  // Messages of the queue may hold payloads, so they are logged for debugging only. Failures are logged where the task is
  // wrapped.
  const log = levelsOf(runtime.log).child("jobs");
  return new Logger(() => (level, message) => {
    if (level === "error") log.debug(message);
  });
}
