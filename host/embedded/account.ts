// The account under which PostgreSQL runs, and which files that account can read. PostgreSQL refuses to run as uid 0, so a
// service that runs as root starts its database under an unprivileged account that exists on the machine.

import { spawn, type ChildProcess } from "node:child_process";
import { readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode, StartError } from "../../services/shared/start-error.ts";

export type Account = { name: string; uid: number; gid: number };

/** The folders and the account of an embedded server; `account` undefined: the own account. */
export type ServerFolders = {
  /** Holds the databases. */
  clusterFolder: string;
  /** Holds the socket; only the account and root may enter it. */
  socketFolder: string;
  /** Holds `initdb` and `postgres`. */
  programs: string;
  account: Account | undefined;
};

/**
 * @returns the account for the server of `clusterFolder`; undefined: the own account. A cluster that belongs to an ordinary user
 * stays that user's, so that one start by root does not lock its owner out.
 * @throws StartError when there is no suitable account
 */
export async function serverAccount(clusterFolder: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = await knownAccounts();
  const owner = await stat(clusterFolder).catch(() => undefined);
  if (owner && owner.uid !== 0) {
    const known = accounts.find((account) => account.uid === owner.uid);
    return known ?? { name: `user ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  }
  const chosen = ["postgres", "nobody"].map((name) => accounts.find((account) => account.name === name));
  const account = chosen.find((candidate) => candidate !== undefined);
  if (account) return account;
  throw new StartError(
    "PostgreSQL refuses to run as root and this machine has no account postgres or nobody: start as an ordinary user, or set DATABASE_URL.",
  );
}

async function knownAccounts(): Promise<Account[]> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  const accounts = lines.map((line) => {
    const [name = "", , uid, gid] = line.split(":");
    return { name, uid: Number(uid), gid: Number(gid) };
  });
  return accounts.filter(
    ({ uid, gid }) => Number.isInteger(uid) && Number.isInteger(gid) && uid > 0 && gid >= 0,
  );
}

/** Whether the account may enter every folder above `path` and read `path` itself, by mode bits (no ACLs). */
export async function canReach(path: string, account: Account): Promise<boolean> {
  try {
    const real = await realpath(path);
    if (((await permissions(real, account)) & 4) === 0) return false;
    for (let at = dirname(real); ; at = dirname(at)) {
      if (((await permissions(at, account)) & 1) === 0) return false;
      if (at === dirname(at)) return true;
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

async function permissions(path: string, account: Account): Promise<number> {
  const { mode, uid, gid } = await stat(path);
  if (uid === account.uid) return (mode >> 6) & 7;
  return (gid === account.gid ? mode >> 3 : mode) & 7;
}

/**
 * @returns the name of its folder for a server program that runs as `account`. The folders above may be closed to another
 * account. But Node enters the folder before it drops root, and this link leads there directly. PostgreSQL never leaves its data
 * folder, so the link stays valid in all its processes.
 */
export function folderArgument(folder: string, account: Account | undefined): string {
  return account && process.platform === "linux" ? "/proc/self/cwd" : folder;
}

/**
 * Starts a server program in `folder` with stderr on a pipe and a clean environment, without secrets or PG* variables.
 * @param detached runs it in its own session, out of reach of a terminal's Ctrl-C
 */
export function spawnIn(
  folder: string,
  account: Account | undefined,
  program: string,
  args: readonly string[],
  detached = false,
): ChildProcess {
  // Nothing of the own environment: it may hold secrets.
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
  // With a uid or gid Node also drops the supplementary groups (libuv calls setgroups(0, NULL)).
  const identity = account ? { uid: account.uid, gid: account.gid } : {};
  return spawn(program, args, {
    cwd: folder,
    env,
    detached,
    stdio: ["ignore", "ignore", "pipe"],
    ...identity,
  });
}
