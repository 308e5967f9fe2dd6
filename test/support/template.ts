// Data folders of an embedded PostgreSQL made once and copied for each test file: an empty database, and one with the
// schema and the demo data. Each file still has a server of its own; what is saved is initdb, the migrations and the
// first data, more than two seconds of every file.
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../services/shared/start-error.ts";
import { type DatabaseFolder, makeDatabaseFolder } from "./folders.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/records-test");
/** A template gets no older, so that the data in it are about as fresh as those of a first start. */
const ageMsMax = 3_600_000;
/** What decides of the data in a template. */
const sources = [
  "services",
  "mixins",
  "host",
  "moleculer.config.ts",
  "migrations",
  "package-lock.json",
  "test/support/service.ts",
  "test/support/template.ts",
];

const builds = new Map<string, Promise<string>>();

/**
 * Copies the template `name` into `folder`, and builds it first with `build`, into a folder of its own, where there is none
 * of these sources.
 */
export async function copyTemplate(
  name: string,
  folder: string,
  build: (folder: DatabaseFolder) => Promise<void>,
): Promise<void> {
  const key = `${name}-${await sourcesHash()}-${Math.floor(Date.now() / ageMsMax)}`;
  let building = builds.get(key);
  if (building === undefined) {
    building = ready(key, build);
    builds.set(key, building);
  }
  await copyFolder(await building, folder);
}

async function ready(key: string, build: (folder: DatabaseFolder) => Promise<void>): Promise<string> {
  const template = join(cache, key);
  if (await exists(template)) return template;
  await mkdir(cache, { recursive: true, mode: 0o700 });
  await removeOld();
  // In the temporary folder of the machine: the server's own account may not be allowed into the checkout.
  const folder = await makeDatabaseFolder();
  const unfinished = join(cache, `unfinished-${randomBytes(6).toString("hex")}`);
  try {
    await build(folder);
    await mkdir(unfinished, { mode: 0o700 });
    await copyFolder(folder.path, unfinished);
    // Two workers may build the same at once: who comes second takes what is there.
    await rename(unfinished, template).catch((error: unknown) => {
      if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(error))) throw error;
    });
  } finally {
    await folder.remove();
    await rm(unfinished, { recursive: true, force: true });
  }
  return template;
}

/**
 * Keeps owners and modes, which Node's own copy does not: PostgreSQL insists on both. Each folder by itself, as one may be a
 * link to a place elsewhere.
 */
async function copyFolder(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    await mkdir(join(to, name), { recursive: true, mode: 0o700 });
    await run("cp", ["-Rp", `${join(from, name)}/.`, join(to, name)]);
  }
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(cache)) {
    const { mtimeMs } = await stat(join(cache, name)).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > 2 * ageMsMax) await rm(join(cache, name), { recursive: true, force: true });
  }
}

let hash: Promise<string> | undefined;

function sourcesHash(): Promise<string> {
  hash ??= hashSources();
  return hash;
}

async function hashSources(): Promise<string> {
  const digest = createHash("sha256").update(`${process.version} ${process.getuid?.()}`);
  for (const source of sources) {
    const path = join(root, source);
    const isFolder = (await stat(path)).isDirectory();
    const names = isFolder ? await readdir(path, { recursive: true, withFileTypes: true }) : [];
    const files = isFolder
      ? names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
      : [path];
    for (const file of files.toSorted()) digest.update(file).update(await readFile(file));
  }
  return digest.digest("hex").slice(0, 16);
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
