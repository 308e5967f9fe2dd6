// The job: signs what has grown, brings it out of the database, and proves whole logs in what time is left. One runs at a time,
// over all processes, and for some seconds only, so that a process can stop; what is left is a job of its own.
import type { Service } from "moleculer";
import { Caller } from "../../shared/caller.ts";
import { platform } from "../../shared/database/scope.ts";
import { perRuntime } from "../../shared/per-runtime.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { CheckpointRows } from "./checkpoint-rows.ts";
import { placeOf } from "./place.ts";
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
/** Between two runs that follow each other: a long proof is given a quarter of the time. */
const restSeconds = 15;
/** After a place did not take what it was offered. */
const againSeconds = 60;

export interface AuditService extends Service {
  runtime: Runtime;
}

/** Which places failed the last time, so that an outage is told once; and whether it was told that there is none. */
const troublesOf = perRuntime(() => new Set<string>());

const remoteOf = perRuntime(({ database: db, log }): Remote => ({ db, log, made: new Map() }));

export async function runCheckpoints(this: AuditService): Promise<void> {
  const { runtime, broker } = this;
  const { key, folder, kept } = placeOf(runtime);
  const rows = new CheckpointRows(runtime, key);
  const files = folder && kept && folderSink(folder, kept, key);
  const remote = remoteOf(runtime);
  const remotes = [addressSink(remote, broker, key), storeSink(remote, broker)];
  const deadline = performance.now() + runMs;
  // First what is there: a folder that cannot be written to would show heads that are long behind.
  const before = await offer(runtime, rows, files);
  const usable = before === "done" || before === "more" ? kept : undefined;
  const made = (number: number) => {
    for (const { name } of remotes) if (!remote.made.has(name)) remote.made.set(name, number);
  };
  const signed = await signHeads({ runtime, rows, key, kept: usable, deadline, made });
  const outcomes = [await offer(runtime, rows, files)];
  for (const sink of remotes) {
    const outcome = await offer(runtime, rows, sink);
    if (outcome === "done" || outcome === "off") remote.made.delete(sink.name);
    outcomes.push(outcome);
  }
  if (outcomes.every((outcome) => outcome === "off")) tellStaying(runtime);
  if (!signed || outcomes.includes("more")) return again(runtime, 0);
  const proved = await proveLogs(runtime, kept, provingMs);
  if (outcomes.includes("failed")) await again(runtime, againSeconds);
  else if (!proved) await again(runtime, restSeconds);
}

async function offer(
  runtime: Runtime,
  rows: CheckpointRows,
  sink: CheckpointSink | undefined,
): Promise<Published | "failed"> {
  if (sink === undefined) return "off";
  const troubles = troublesOf(runtime);
  try {
    const outcome = await publish(rows, sink);
    if (troubles.delete(sink.name)) runtime.log.info({ sink: sink.name }, "checkpoints are taken again");
    return outcome;
  } catch (error) {
    if (!troubles.has(sink.name))
      runtime.log.error({ sink: sink.name, err: error }, "checkpoints are not taken, will be offered again");
    troubles.add(sink.name);
    return "failed";
  }
}

function tellStaying(runtime: Runtime): void {
  const troubles = troublesOf(runtime);
  if (troubles.has("nowhere")) return;
  troubles.add("nowhere");
  runtime.log.warn(
    "checkpoints of the audit log stay in the database: set AUDIT_CHECKPOINT_DIR, AUDIT_CHECKPOINT_URL or S3_ENDPOINT",
  );
}

/** Under one key: however many runs ask for it, one follows. */
async function again({ database }: Runtime, seconds: number): Promise<void> {
  await database.write(platform, Caller.system("audit"), {
    text: `select add_task($1, queue_name := $1, job_key := $1 || ':again',
      run_at := now() + make_interval(secs => $2))`,
    values: [checkpointTask, seconds],
  });
}
