// Generated secrets: created once, kept in DATA_DIR/secrets.json and read at every later start. Without the file everything
// encrypted with them is lost, so a damaged file is reported and never overwritten.

import { randomBytes } from "node:crypto";
import { chmod, open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, fileError, StartError } from "../../services/shared/start-error.ts";

const secretBytes = 32;
/** The new "boot" secret, stored beside it until the master keys are wrapped with it: see host/rewrap.ts. */
export const nextBootName = "boot_next";

/**
 * @returns one secret (32 random bytes, base64url) per name; missing ones are added to the file, others stay unchanged
 * @throws StartError when the file is unreadable, damaged or unwritable
 * The caller must hold the lock of `dataDir` and make one call at a time.
 */
export async function loadOrCreateSecrets(
  dataDir: string,
  names: readonly string[],
): Promise<Record<string, string>> {
  const file = join(dataDir, "secrets.json");
  const secrets = await readSecrets(file);
  const missing = names.filter((name) => !secrets.has(name));
  for (const name of missing) secrets.set(name, randomBytes(secretBytes).toString("base64url"));
  if (missing.length > 0) await writeSecrets(dataDir, file, secrets);
  return Object.fromEntries([...secrets].filter(([name]) => names.includes(name)));
}

/** @returns an existing secret, or undefined; none is created @throws StartError when the file is unreadable or damaged */
export async function readSecret(dataDir: string, name: string): Promise<string | undefined> {
  return (await readSecrets(join(dataDir, "secrets.json"))).get(name);
}

/**
 * Gives `name` the value of `next`, and removes `next`. Does nothing if there is no `next`.
 * The caller must hold the lock of `dataDir`. @throws StartError
 */
export async function replaceSecret(dataDir: string, name: string, next: string): Promise<void> {
  const file = join(dataDir, "secrets.json");
  const secrets = await readSecrets(file);
  const value = secrets.get(next);
  if (value === undefined) return;
  secrets.set(name, value);
  secrets.delete(next);
  await writeSecrets(dataDir, file, secrets);
}

async function readSecrets(file: string): Promise<Map<string, string>> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
    if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return new Map();
    throw fileError(error, file, "read");
  }
  const entries = parseEntries(text);
  if (!entries)
    throw new StartError(
      `${file} is damaged; restore it from a copy, because data encrypted with it is lost without it.`,
    );
  return new Map(entries);
}

function parseEntries(text: string): [string, string][] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries: [string, string][] = [];
  for (const [name, secret] of Object.entries(value)) {
    if (typeof secret !== "string" || Buffer.from(secret, "base64url").length < secretBytes) return undefined;
    entries.push([name, secret]);
  }
  return entries;
}

async function writeSecrets(dataDir: string, file: string, secrets: Map<string, string>): Promise<void> {
  const fresh = `${file}.new`;
  try {
    const handle = await open(fresh, "w", 0o600);
    try {
      await handle.chmod(0o600);
      await handle.writeFile(`${JSON.stringify(Object.fromEntries(secrets), null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(fresh, file);
    await syncFolder(dataDir);
  } catch (error) {
    throw fileError(error, file, "written");
  }
}

/** Makes a rename within the folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
