// Runs the durable jobs of all services of a process. Together, because each runner of graphile-worker holds a connection
// of the pool for good, to listen on: with one per service few were left for requests.
import { EventEmitter } from "node:events";
import { Logger, run, type Runner, type TaskList, type WorkerEvents } from "graphile-worker";
import { patientPool } from "../../services/shared/database/patient-pool.ts";
import { levelsOf } from "../../services/shared/log-levels.ts";
import { pause } from "../../services/shared/pause.ts";
import { perRuntime } from "../../services/shared/per-runtime.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { watchJobs } from "./job-figures.ts";
import { HeldJobs } from "./held-jobs.ts";

const pollEveryMs = 2_000;
/** Of all services that ask for no number of their own. */
const concurrentMax = 8;
/** Services start within a moment of each other; whoever is later than this gets a runner more. */
const gatherMs = 50;
const againMs = 1_000;

export type Hold = HeldJobs["hold"];

export class JobRunner {
  readonly #runtime: Runtime;
  readonly #held: HeldJobs;
  readonly #logger: Logger;
  readonly #ending = new AbortController();
  readonly #tasks = new Set<string>();
  #gathered: TaskList | undefined;
  readonly #runs: Promise<void>[] = [];
  #stopped: Promise<void> | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#logger = quietLogger(runtime);
    this.#held = new HeldJobs(runtime.database.pool);
    this.#held.start();
    watchJobs(runtime, this.#tasks);
  }

  /** For tasks: says as long as one runs that it does. */
  readonly hold: Hold = (id, work) => this.#held.hold(id, work);

  /** @param ownConcurrentMax for tasks that should neither hold up the others' nor wait for them */
  add(tasks: TaskList, ownConcurrentMax?: number): void {
    for (const name of Object.keys(tasks)) this.#tasks.add(name);
    if (ownConcurrentMax !== undefined) {
      this.#runs.push(this.#run(Promise.resolve(tasks), ownConcurrentMax));
    } else if (this.#gathered !== undefined) {
      Object.assign(this.#gathered, tasks);
    } else {
      this.#gathered = { ...tasks };
      this.#runs.push(this.#run(this.#gather(), concurrentMax));
    }
  }

  /** Resolves when no job of this process runs any more. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      this.#ending.abort();
      await Promise.all(this.#runs);
      await this.#held.stop();
    })();
    return this.#stopped;
  }

  async #gather(): Promise<TaskList> {
    await pause(gatherMs, this.#ending.signal);
    const gathered = this.#gathered ?? {};
    this.#gathered = undefined;
    return gathered;
  }

  /** Until it is stopped: the database may be away for long, and a runner that ended by itself is followed by another. */
  async #run(gathering: Promise<TaskList>, concurrency: number): Promise<void> {
    const taskList = await gathering;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        const runner = await run({
          pgPool: patientPool(this.#runtime.database.pool),
          concurrency,
          pollInterval: pollEveryMs,
          noHandleSignals: true,
          taskList,
          events: deafToMigrations(),
          logger: this.#logger,
        });
        await endOf(runner, signal);
        if (signal.aborted) return;
        this.#runtime.log.warn("the running of jobs ended by itself, and is begun anew");
      } catch (error) {
        this.#runtime.log.warn({ err: error }, "the jobs could not be begun, will be tried again");
      }
      await pause(againMs, signal);
    }
  }
}

/** Resolves when no job of it runs any more: asked to end by the signal, or by itself. */
async function endOf(runner: Runner, signal: AbortSignal): Promise<void> {
  // It rejects when it has ended already.
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
 * graphile-worker ends for good when it is notified of a migration of its schema. Any login of the database may send such
 * a notification, and one would end all jobs of all processes: so it is not heard. Which versions of the program run
 * side by side is settled by our own migrations, and `run` itself refuses a schema that it does not know.
 */
function deafToMigrations(): WorkerEvents {
  const events: WorkerEvents = new EventEmitter();
  // Told before graphile-worker looks at the message, in the same turn.
  events.on("pool:listen:notification", ({ message }) => {
    if (message.channel === "worker:migrate") message.channel = "";
  });
  return events;
}

export const jobRunnerOf = perRuntime((runtime) => new JobRunner(runtime));

function quietLogger(runtime: Runtime): Logger {
  // Job payloads and messages of the queue are for debugging only; failures are logged by whoever wraps the task.
  const log = levelsOf(runtime.log).child("jobs");
  return new Logger(() => (level, message) => {
    if (level === "error") log.debug(message);
  });
}
