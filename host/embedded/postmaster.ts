// Runs the postgres program: its settings, its output, its end.

import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { folderArgument, type ServerFolders, spawnIn } from "./account.ts";
import { outputTail } from "./server-output.ts";

const fastShutdownMsMax = 20_000;
const immediateShutdownMsMax = 10_000;

export type PostmasterOptions = ServerFolders & {
  port: number;
  clusterName: string;
  /** Further server settings, "name=value"; they override those below. */
  settings?: readonly string[];
  log: (message: string) => void;
};

export type Postmaster = {
  processId: number;
  /** How the program ended; undefined while it runs. */
  ending(): string | undefined;
  ended: Promise<void>;
  tail: readonly string[];
  /** Fast shutdown, immediate shutdown after 20 s; resolves when the program has ended. */
  stop(): Promise<void>;
};

// Command-line settings override postgresql.conf and ALTER SYSTEM. The log must hold no statements and no values: errors go to
// the client that caused them and often quote its input, so they are not logged.
const settings: readonly string[] = [
  "listen_addresses=",
  "unix_socket_permissions=0700",
  "max_connections=60",
  "shared_buffers=64MB",
  "jit=off",
  "fsync=on",
  "synchronous_commit=on",
  "timezone=UTC",
  "log_timezone=UTC",
  "log_destination=stderr",
  "logging_collector=off",
  "log_line_prefix=",
  "log_statement=none",
  "log_min_duration_statement=-1",
  "log_min_messages=log",
  "log_min_error_statement=panic",
  "log_parameter_max_length=0",
  "log_parameter_max_length_on_error=0",
  "log_error_verbosity=terse",
  "log_checkpoints=off",
];

/** Starts the program. It is not ready yet: wait for a connection, or for its end. */
export function launchPostmaster(options: PostmasterOptions): Postmaster {
  const { clusterFolder, account, clusterName } = options;
  const own = [
    `unix_socket_directories=${options.socketFolder}`,
    `port=${options.port}`,
    `cluster_name=${clusterName}`,
  ];
  // After a crash PostgreSQL first syncs its whole folder: with one call on Linux, otherwise with an fsync per file.
  if (process.platform === "linux") own.push("recovery_init_sync_method=syncfs");
  const args = ["-D", folderArgument(clusterFolder, account)];
  for (const setting of [...settings, ...own, ...(options.settings ?? [])]) args.push("-c", setting);
  // Detached, so that Ctrl-C in a terminal does not stop the database before the service.
  const child = spawnIn(clusterFolder, account, join(options.programs, "postgres"), args, true);
  let ending: string | undefined;
  const ended = new Promise<void>((done) => {
    const end = (how: string) => {
      ending ??= how;
      done();
    };
    child.once("error", (error) => end(error.message));
    child.once("close", (code, signal) => end(signal ? `ended by ${signal}` : `exit code ${code}`));
  });
  const abandon = () => child.kill("SIGINT");
  process.once("exit", abandon);
  void ended.then(() => process.off("exit", abandon));
  return {
    processId: child.pid ?? 0,
    ending: () => ending,
    ended,
    tail: outputTail(child.stderr, options.log),
    stop: () => stopChild(child, ended, () => ending !== undefined),
  };
}

async function stopChild(child: ChildProcess, ended: Promise<void>, isOver: () => boolean): Promise<void> {
  const steps = [
    ["SIGINT", fastShutdownMsMax],
    ["SIGQUIT", immediateShutdownMsMax],
    ["SIGKILL", immediateShutdownMsMax],
  ] as const;
  for (const [signal, limitMs] of steps) {
    if (isOver()) return;
    child.kill(signal);
    const timer = new AbortController();
    await Promise.race([ended, delay(limitMs, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
  }
}
