/**
 * Mails as `.eml` files, for machines without a mail server. Only the owner can read the folder, because the
 * mails contain tokens. It keeps the newest 1000.
 */
import { randomBytes } from "node:crypto";
import { access, chmod, constants, open, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "../shared/make-folder.ts";

const filesMax = 1_000;
const abandonedAfterMs = 60_000;

/**
 * Writes the message to a temporary file and renames it when it is complete and synced.
 * @returns the file's name
 */
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

/** Whether mails can be written to the folder. Creates the folder if it is missing. Never throws. */
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

/** Removes the oldest mails beyond the bound, and temporary files whose writer died. Names sort by time. */
async function prune(folder: string): Promise<void> {
  const names = (await readdir(folder)).sort();
  const mails = names.filter((name) => name.endsWith(".eml"));
  const abandoned = names.filter(
    (name) => name.endsWith(".eml.tmp") && name < stamp(Date.now() - abandonedAfterMs),
  );
  const old = mails.slice(0, Math.max(0, mails.length - filesMax));
  for (const name of [...old, ...abandoned]) await rm(join(folder, name), { force: true });
}

/** ISO 8601 with hyphens instead of colons, which some file systems refuse. */
const stamp = (atMs: number) => new Date(atMs).toISOString().replaceAll(":", "-");
