// The folder of the unix socket between the service and its database. Its path is short (a socket's path has at most 107 bytes,
// 103 on macOS), its name follows from the data folder, and only the server's account and root may enter it.

import { createHash } from "node:crypto";
import { chmod, lchown, lstat, mkdir, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Account, canReach } from "./account.ts";
import { errorCode, fileError, StartError } from "../../services/shared/start-error.ts";

const pathBytesMax = 90;

/** @returns the name of a data folder's server on this machine */
export function clusterName(dataDir: string): string {
  return `records-${createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16)}`;
}

/**
 * Creates the socket folder, or empties the one of an earlier run. No server of this data folder may be running.
 * @returns its path @throws StartError when another user created a folder of that name
 */
export async function openSocketFolder(dataDir: string, account: Account | undefined): Promise<string> {
  const folder = await socketFolderPath(dataDir, account);
  try {
    await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
    await checkOwner(folder, account);
    await chmod(folder, 0o700);
    if (account) await lchown(folder, account.uid, account.gid);
    for (const name of await readdir(folder)) await rm(join(folder, name), { force: true });
  } catch (error) {
    throw fileError(error, folder, "made for the database socket");
  }
  return folder;
}

async function socketFolderPath(dataDir: string, account: Account | undefined): Promise<string> {
  const temporary = tmpdir();
  const fits = Buffer.byteLength(join(temporary, clusterName(dataDir))) <= pathBytesMax;
  const reachable = !account || (await canReach(temporary, account));
  return join(fits && reachable ? temporary : "/tmp", clusterName(dataDir));
}

// Temporary folders are shared: another user who creates our folder first could read the socket's traffic.
async function checkOwner(folder: string, account: Account | undefined): Promise<void> {
  const found = await lstat(folder);
  const owners = [process.getuid?.(), account?.uid];
  if (found.isDirectory() && owners.includes(found.uid)) return;
  throw new StartError(`${folder} was made by somebody else and cannot hold the database socket; remove it.`);
}
