// The folder that holds everything embedded (DATA_DIR), used by one instance at a time. The kernel holds the lock on an open
// file. It is taken through SQLite, because Node has no call for it. The lock ends with the process, however that dies. It does
// not depend on process ids, which are reused. Of two simultaneous starts it admits one. It also works between containers of one
// host that mount the same volume, where process ids mean nothing. The pid file beside it is only for the error message.
//
// Hazard: such a lock ends when the process closes *any* descriptor of the file, so no other code may open instance.lock.

import { constants } from "node:fs";
import { access, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeFolder } from "../../services/shared/make-folder.ts";
import { errorCode, fileError, propertyOf, StartError } from "../../services/shared/start-error.ts";

const lockName = "instance.lock";
const pidName = "instance.pid";
// https://sqlite.org/rescode.html
const sqliteBusy = 5;
const sqliteNotADatabase = 26;

// Keeps a reference to each lock: garbage collection of a lock would close its file and release it.
const held = new Set<DatabaseSync>();

export type DataDirectory = { path: string; release(): Promise<void> };

/**
 * Creates the folder (mode 0700) if it is missing, and locks it until `release()` or the end of this process.
 * @returns its absolute path
 * @throws StartError when it is unwritable, a file, or in use by another instance
 */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  const folder = resolve(path);
  await makeDataFolder(folder);
  const lock = await takeLock(folder);
  const pidFile = join(folder, pidName);
  try {
    await writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch (error) {
    end(lock);
    throw fileError(error, pidFile, "written");
  }
  return {
    path: folder,
    async release() {
      if (!lock.isOpen) return;
      await rm(pidFile, { force: true });
      end(lock);
    },
  };
}

function end(lock: DatabaseSync): void {
  held.delete(lock);
  if (lock.isOpen) lock.close();
}

async function makeDataFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, 0o700);
    if (!(await stat(folder)).isDirectory()) throw new StartError(`${folder} is a file, not a folder.`);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw new StartError(`${folder} is a file, not a folder.`);
    throw fileError(error, folder, "used as the data folder");
  }
}

async function takeLock(folder: string): Promise<DatabaseSync> {
  const file = join(folder, lockName);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec("BEGIN EXCLUSIVE");
    held.add(lock);
    return lock;
  } catch (error) {
    if (lock?.isOpen) lock.close();
    throw await lockError(error, folder, file);
  }
}

async function lockError(error: unknown, folder: string, file: string): Promise<StartError> {
  const sqliteCode = Number(propertyOf(error, "errcode")) & 0xff;
  if (sqliteCode === sqliteBusy) {
    const pid = (await readFile(join(folder, pidName), "utf8").catch(() => "")).trim();
    return new StartError(
      `${folder} is in use by another instance${/^\d+$/.test(pid) ? ` (process ${pid})` : ""}.`,
    );
  }
  if (sqliteCode === sqliteNotADatabase) {
    return new StartError(`${file} is not the lock file of this service; move it away.`, { cause: error });
  }
  return fileError(error, file, "locked");
}
