// The job that signs new entries, exports the checkpoints from the database, and verifies complete logs in
// the remaining time. One run at a time over all processes, limited to some seconds, so that a process can
// stop; the remaining work is left to another job.
import type { Service } from "moleculer";
import { Caller } from "../../shared/caller.ts";
import { platform } from "../../shared/database/scope.ts";
import { perRuntime } from "../../shared/per-runtime.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { CheckpointRows } from "./checkpoint-rows.ts";
import { checkpointSetupOf } from "./checkpoint-setup.ts";
import { proveLogs } from "./prove-logs.ts";
import { signHeads } from "./sign-heads.ts";
import {
  addressSink,
  type CheckpointSink,
  folderSink,
  publish,
  type Published,
  type Remote,
  storeSink,
} from "./sinks.ts";

export const checkpointTask = "audit.checkpoint";

const runMs = 5_000;
const provingMs = 5_000;
/** Delay before the next run of a long verification, which so gets a quarter of the time. */
const nextRunSeconds = 15;
/** Delay after a sink has failed. */
const retrySeconds = 60;

export interface AuditService extends Service {
  runtime: Runtime;
}

/**
 * The sinks that failed in the last run, so that an outage is logged once; and whether the lack of any sink
 * was logged.
 */
const failedSinksOf = perRuntime(() => new Set<string>());

const remoteOf = perRuntime(({ database: db, log }): Remote => ({ db, log, made: new Map() }));

/** The job `audit.checkpoint`. */
export async function runCheckpoints(this: AuditService): Promise<void> {
  const { runtime, broker } = this;
  const { key, folder, folderState } = checkpointSetupOf(runtime);
  const rows = new CheckpointRows(runtime, key);
  const files = folder && folderState && folderSink(folder, folderState, key);
  const remote = remoteOf(runtime);
  const remotes = [addressSink(remote, broker, key), storeSink(remote, broker)];
  const deadline = performance.now() + runMs;
  // First exports existing checkpoints: a folder that cannot be written to would contain outdated heads.
  const before = await offerTo(runtime, rows, files);
  const usable = before === "done" || before === "more" ? folderState : undefined;
  const made = (number: number) => {
    for (const { name } of remotes) if (!remote.made.has(name)) remote.made.set(name, number);
  };
  const signed = await signHeads({ runtime, rows, key, folderState: usable, deadline, made });
  const outcomes = [await offerTo(runtime, rows, files)];
  for (const sink of remotes) {
    const outcome = await offerTo(runtime, rows, sink);
    if (outcome === "done" || outcome === "off") remote.made.delete(sink.name);
    outcomes.push(outcome);
  }
  if (outcomes.every((outcome) => outcome === "off")) logNoSink(runtime);
  if (!signed || outcomes.includes("more")) return enqueueAgain(runtime, 0);
  const proved = await proveLogs(runtime, folderState, provingMs);
  if (outcomes.includes("failed")) await enqueueAgain(runtime, retrySeconds);
  else if (!proved) await enqueueAgain(runtime, nextRunSeconds);
}

async function offerTo(
  runtime: Runtime,
  rows: CheckpointRows,
  sink: CheckpointSink | undefined,
): Promise<Published | "failed"> {
  if (sink === undefined) return "off";
  const failedSinks = failedSinksOf(runtime);
  try {
    const outcome = await publish(rows, sink);
    if (failedSinks.delete(sink.name)) runtime.log.info({ sink: sink.name }, "checkpoints are taken again");
    return outcome;
  } catch (error) {
    if (!failedSinks.has(sink.name))
      runtime.log.error({ sink: sink.name, err: error }, "checkpoints are not taken, will be offered again");
    failedSinks.add(sink.name);
    return "failed";
  }
}

function logNoSink(runtime: Runtime): void {
  const failedSinks = failedSinksOf(runtime);
  if (failedSinks.has("nowhere")) return;
  failedSinks.add("nowhere");
  runtime.log.warn(
    "checkpoints of the audit log stay in the database: set AUDIT_CHECKPOINT_DIR, AUDIT_CHECKPOINT_URL or S3_ENDPOINT",
  );
}

/** Enqueues another run. One job key combines all requests. */
async function enqueueAgain({ database }: Runtime, seconds: number): Promise<void> {
  await database.write(platform, Caller.system("audit"), {
    text: `select add_task($1, queue_name := $1, job_key := $1 || ':again',
      run_at := now() + make_interval(secs => $2))`,
    values: [checkpointTask, seconds],
  });
}
