// Stops a database server that outlived the process that started it (after kill -9). The pid file names a process. Process ids
// are reused, so that process must be recognised by its command line or its folder.

import { execFile } from "node:child_process";
import { readFile, readlink, realpath, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errorCode, fileError, StartError } from "../../services/shared/start-error.ts";

const pollMs = 20;
const fastShutdownMsMax = 10_000;
const immediateShutdownMsMax = 10_000;

/**
 * Stops the server that still runs on `clusterFolder`, and removes a pid file with the id of a foreign process, which would keep
 * PostgreSQL from starting. The caller must hold the lock of the data folder.
 */
export async function stopLeftover(
  clusterFolder: string,
  clusterName: string,
  log: (message: string) => void,
): Promise<void> {
  const pidFile = join(clusterFolder, "postmaster.pid");
  const text = await readFile(pidFile, "utf8").catch((error: unknown) => {
    if (["ENOENT", "ENOTDIR"].includes(errorCode(error))) return undefined;
    throw fileError(error, pidFile, "read");
  });
  if (text === undefined) return;
  const pid = Number(text.split("\n")[0]);
  const isServer = () => runsOn(pid, clusterFolder, clusterName);
  if (Number.isInteger(pid) && pid > 1) {
    if (await isServer()) {
      log(`stopping the database server left by an earlier run (process ${pid})`);
      await stopServer(pid, isServer);
    } else if (!isAlive(pid)) {
      // PostgreSQL reads the file itself: it shows whether children of the dead server still use its memory.
      return;
    }
  }
  await rm(pidFile, { force: true });
}

async function stopServer(pid: number, isServer: () => Promise<boolean>): Promise<void> {
  const steps = [
    ["SIGINT", fastShutdownMsMax],
    ["SIGQUIT", immediateShutdownMsMax],
  ] as const;
  for (const [signal, limitMs] of steps) {
    sendSignal(pid, signal);
    for (const end = performance.now() + limitMs; performance.now() < end; await delay(pollMs)) {
      if (!(await isServer())) return;
    }
  }
  throw new StartError(
    `The database server left by an earlier run (process ${pid}) does not stop; end it by hand.`,
  );
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return;
    throw new StartError(
      `The database server left by an earlier run (process ${pid}) belongs to another user.`,
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}

async function runsOn(pid: number, clusterFolder: string, clusterName: string): Promise<boolean> {
  const args = await commandLine(pid);
  if (basename(args[0] ?? "") !== "postgres") return false;
  if (args.includes(`cluster_name=${clusterName}`)) return true;
  // The data folder may have been moved while the server ran. Without CAP_SYS_PTRACE the link is unreadable; then it is not our
  // server.
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return folder !== undefined && folder === (await realpath(clusterFolder));
}

// Empty for a process that has ended, also if its parent has not reaped it yet.
async function commandLine(pid: number): Promise<string[]> {
  if (process.platform === "linux") {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
  }
  return new Promise((done) => {
    execFile("ps", ["-ww", "-o", "command=", "-p", String(pid)], (_error, output) =>
      done(output.trim().split(" ")),
    );
  });
}
