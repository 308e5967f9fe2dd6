/**
 * Mails as files, for machines without a mail server: each an `.eml` that mail programs open. The folder is for
 * its owner alone, since the mails carry tokens, and keeps the newest 1000.
 */
import { randomBytes } from "node:crypto";
import { access, chmod, constants, open, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "../shared/make-folder.ts";

const filesMax = 1_000;
const abandonedAfterMs = 60_000;

/** Writes the message under its final name only when it is whole and on disk. Answers the file's name. */
export async function writeEml(folder: string, message: Uint8Array): Promise<string> {
  await makeMailFolder(folder);
  const name = `${stamp(Date.now())}-${randomBytes(6).toString("hex")}.eml`;
  const draft = join(folder, `${name}.tmp`);
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(message);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(folder, name));
  await prune(folder);
  return name;
}

export async function isWritable(folder: string): Promise<boolean> {
  try {
    await makeMailFolder(folder);
    await access(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function makeMailFolder(folder: string): Promise<void> {
  await makeFolder(resolve(folder), 0o700);
  await chmod(folder, 0o700);
}

/** Removes the oldest beyond the bound, and drafts whose writer died. Names sort by time. */
async function prune(folder: string): Promise<void> {
  const names = (await readdir(folder)).sort();
  const mails = names.filter((name) => name.endsWith(".eml"));
  const abandoned = names.filter(
    (name) => name.endsWith(".eml.tmp") && name < stamp(Date.now() - abandonedAfterMs),
  );
  const old = mails.slice(0, Math.max(0, mails.length - filesMax));
  for (const name of [...old, ...abandoned]) await rm(join(folder, name), { force: true });
}

/** ISO 8601 with dashes for colons, which some file systems refuse. */
const stamp = (atMs: number) => new Date(atMs).toISOString().replaceAll(":", "-");
