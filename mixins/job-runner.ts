// Runs the durable jobs of all services of a process. Together, because each runner of graphile-worker holds a connection
// of the pool for good, to listen on: with one per service few were left for requests.
import { Logger, run, type Runner, type TaskList } from "graphile-worker";
import { pause } from "../services/shared/pause.ts";
import { perRuntime } from "../services/shared/per-runtime.ts";
import type { Runtime } from "../services/shared/runtime.ts";
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
  readonly #ending = new AbortController();
  #gathered: TaskList | undefined;
  readonly #runs: Promise<Runner | undefined>[] = [];
  #stopped: Promise<void> | undefined;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#held = new HeldJobs(runtime.database.pool);
    this.#held.start();
  }

  /** For tasks: says as long as one runs that it does. */
  readonly hold: Hold = (id, work) => this.#held.hold(id, work);

  /** @param ownConcurrentMax for tasks that should neither hold up the others' nor wait for them */
  add(tasks: TaskList, ownConcurrentMax?: number): void {
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
      const runners = await Promise.all(this.#runs);
      await Promise.all(runners.map(async (runner) => runner?.stop()));
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

  /** @returns undefined when it was stopped before it could start: the database may be away for long */
  async #run(gathering: Promise<TaskList>, concurrency: number): Promise<Runner | undefined> {
    const taskList = await gathering;
    while (!this.#ending.signal.aborted) {
      try {
        return await run({
          pgPool: this.#runtime.database.pool,
          concurrency,
          pollInterval: pollEveryMs,
          noHandleSignals: true,
          taskList,
          logger: quietLogger(this.#runtime),
        });
      } catch (error) {
        this.#runtime.log.warn({ err: error }, "the jobs could not be begun, will be tried again");
        await pause(againMs, this.#ending.signal);
      }
    }
    return undefined;
  }
}

export const jobRunnerOf = perRuntime((runtime) => new JobRunner(runtime));

function quietLogger(runtime: Runtime): Logger {
  // Job payloads and messages of the queue are for debugging only; failures are logged by whoever wraps the task.
  return new Logger(() => (level, message) => {
    if (level === "error") runtime.log.debug({ mod: "jobs" }, message);
  });
}
