// The database cluster under <DATA_DIR>/postgres. initdb creates it once in a folder of another name, which is renamed when it is
// complete. So an interrupted start leaves no incomplete cluster under the real name.

import { randomBytes } from "node:crypto";
import { chmod, lchown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Account, folderArgument, type ServerFolders, spawnIn } from "./account.ts";
import { syncFolder } from "./secrets.ts";
import { explainExit, outputTail } from "./server-output.ts";
import { errorCode, fileError, StartError } from "../../services/shared/start-error.ts";

const unfinishedPrefix = "postgres.unfinished-";
const majorVersion = "18";

export type Superuser = { user: string; password: string };

/**
 * Creates the cluster unless it exists.
 * @throws StartError when it is damaged, of another version, unwritable, or the disk is full
 */
export async function ensureCluster(
  place: ServerFolders,
  login: Superuser,
  timeoutMs: number,
): Promise<void> {
  const folder = place.clusterFolder;
  const parent = dirname(folder);
  try {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    for (const name of await readdir(parent)) {
      if (name.startsWith(unfinishedPrefix)) await removeTree(join(parent, name));
    }
    if (await isCluster(folder)) return await giveTo(folder, place.account);
    const unfinished = join(parent, unfinishedPrefix + randomBytes(6).toString("hex"));
    try {
      await initialise(unfinished, place, login, timeoutMs);
      await rename(unfinished, folder);
    } catch (error) {
      await removeTree(unfinished);
      throw error;
    }
    await syncFolder(parent);
  } catch (error) {
    throw fileError(error, folder, "used as the database folder");
  }
}

/** Whether there is a cluster of our version; false if the folder is absent or empty. */
async function isCluster(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((error: unknown): string[] => {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  });
  if (names.length === 0) return false;
  if (!names.includes("PG_VERSION") || !names.includes("global")) {
    throw new StartError(
      `${folder} is not a complete PostgreSQL folder; restore it from a copy, or move it away to start with an empty one.`,
    );
  }
  const version = (await readFile(join(folder, "PG_VERSION"), "utf8")).trim();
  if (version === majorVersion) return true;
  throw new StartError(
    `${folder} was made by PostgreSQL ${version || "(unknown)"}; this service needs ${majorVersion}.`,
  );
}

async function initialise(
  folder: string,
  place: ServerFolders,
  login: Superuser,
  timeoutMs: number,
): Promise<void> {
  const { account } = place;
  await mkdir(folder, { mode: 0o700 });
  const passwordFile = join(place.socketFolder, "password");
  try {
    await writeFile(passwordFile, `${login.password}\n`, { mode: 0o600 });
    if (account) {
      await lchown(passwordFile, account.uid, account.gid);
      await lchown(folder, account.uid, account.gid);
    }
    const args = ["--username", login.user, "--pwfile", passwordFile, "--auth=scram-sha-256"];
    await runInitdb(folder, args, place, timeoutMs);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

function runInitdb(folder: string, args: string[], place: ServerFolders, timeoutMs: number): Promise<void> {
  // A single syncfs takes almost no time; initdb's default, an fsync per file, takes seconds on some disks.
  const sync = process.platform === "linux" ? "--sync-method=syncfs" : "--no-sync";
  const where = ["-D", folderArgument(folder, place.account), "--no-instructions", sync];
  const locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const child = spawnIn(folder, place.account, join(place.programs, "initdb"), [
    ...where,
    ...args,
    ...locale,
  ]);
  const tail = outputTail(child.stderr, () => undefined);
  // Not spawn's own timeout: its timer is not cleared if the program cannot be started.
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  return new Promise<void>((done, failed) => {
    child.once("error", (error) => failed(explainExit("initdb", error.message, tail)));
    child.once("close", (code, signal) => {
      if (code === 0) done();
      else failed(explainExit("initdb", signal ? `ended by ${signal}` : `exit code ${code}`, tail));
    });
  }).finally(() => clearTimeout(timer));
}

// PostgreSQL requires to own its folder, and a certain mode; a copy restored by root has the wrong owner.
async function giveTo(folder: string, account: Account | undefined): Promise<void> {
  const owner = account?.uid ?? process.getuid?.();
  const found = await stat(folder);
  if (owner !== undefined && found.uid !== owner) {
    if (!account) throw new StartError(`${folder} belongs to another user (uid ${found.uid}).`);
    for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
      await lchown(join(entry.parentPath, entry.name), account.uid, account.gid);
    }
    // The folder itself comes last, so that an interrupted pass is repeated.
    await lchown(folder, account.uid, account.gid);
  }
  if ((found.mode & 0o077) !== 0) await chmod(folder, 0o700);
}

async function removeTree(folder: string): Promise<void> {
  // An initdb whose parent was killed may still write for a moment.
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
