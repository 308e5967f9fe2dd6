// The store as a folder. An object is first written to a temporary name and synced to the disk, and then renamed, which is one
// step in the file system. So it exists completely or not at all, also after a crash.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, link, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorCode } from "../../services/shared/start-error.ts";
import { makeFolder } from "../../services/shared/make-folder.ts";
import { assertKey, type Removal, StoreError, type Store, type StoredObject } from "./store.ts";

/** Keys never begin with a dot, so this folder cannot hold an object. */
const unfinished = ".unfinished";
const folderMode = 0o700;
const fileMode = 0o600;
const probeMsMax = 2_000;
/** Bytes that may wait to be written: more than one chunk, so that several are written in one call. */
const writeBytes = 1024 * 1024;

/** The folder for backups when no object store is set. */
export const backupsFolder = (dataDir: string) => join(dataDir, "backups");

/** A store in a local folder, with the mode 0700 for folders and 0600 for files. */
export class FolderStore implements Store {
  readonly #root: string;

  /** @param root absolute path; created at the first write */
  constructor(root: string) {
    this.#root = root;
  }

  async put(key: string, body: Readable, signal: AbortSignal): Promise<{ bytes: number }> {
    const place = this.#placeOf(key);
    try {
      const written = await this.#write(body, signal);
      await makeFolder(dirname(place), folderMode);
      await rename(written.path, place).catch(removing(written.path));
      await this.#syncFolders(place);
      return { bytes: written.bytes };
    } catch (error) {
      body.destroy();
      // The signal's own reason, and not the error that Node.js makes of an abort.
      signal.throwIfAborted();
      throw asStoreError(error);
    }
  }

  async putOnce(key: string, bytes: Buffer, signal: AbortSignal): Promise<boolean> {
    const place = this.#placeOf(key);
    try {
      const { path } = await this.#write(Readable.from([bytes]), signal);
      try {
        await makeFolder(dirname(place), folderMode);
        // Unlike a rename, a link fails if the name exists.
        await link(path, place);
      } finally {
        await rm(path, { force: true });
      }
      await this.#syncFolders(place);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (errorCode(error) === "EEXIST") return false;
      throw asStoreError(error);
    }
  }

  async get(key: string, signal: AbortSignal): Promise<Readable> {
    const file = await open(this.#placeOf(key), "r").catch((error: unknown) => {
      throw asStoreError(error);
    });
    return createReadStream("", { fd: file, signal, highWaterMark: 256 * 1024 });
  }

  async stat(key: string): Promise<{ bytes: number; modifiedAt: Date } | undefined> {
    try {
      const { size, mtime } = await stat(this.#placeOf(key));
      return { bytes: size, modifiedAt: mtime };
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw asStoreError(error);
    }
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const waiting = [this.#root];
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      for (const entry of await entriesOf(folder)) {
        const path = join(folder, entry.name);
        const key = relative(this.#root, path).replaceAll("\\", "/");
        if (entry.isDirectory() && !entry.name.startsWith(".")) {
          if (`${key}/`.startsWith(prefix) || prefix.startsWith(`${key}/`)) waiting.push(path);
        } else if (entry.isFile() && key.startsWith(prefix)) {
          const found = await this.stat(key);
          if (found !== undefined) yield { key, ...found };
        }
      }
    }
  }

  async remove(key: string): Promise<Removal> {
    const place = this.#placeOf(key);
    try {
      await rm(place);
      await syncFolder(dirname(place));
    } catch (error) {
      if (!isAbsent(error)) throw asStoreError(error);
    }
    return { bytesStay: false, lockedUntil: undefined };
  }

  async countLeftovers(before: Date): Promise<number> {
    return (await this.#leftovers(before)).length;
  }

  async removeLeftovers(before: Date): Promise<number> {
    const paths = await this.#leftovers(before);
    for (const path of paths) await rm(path, { force: true });
    return paths.length;
  }

  async #leftovers(before: Date): Promise<string[]> {
    const folder = join(this.#root, unfinished);
    const paths: string[] = [];
    for (const { name } of await entriesOf(folder)) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      // A put in progress keeps writing. Only a file that has not changed is a leftover.
      if (found !== undefined && found.mtimeMs < before.getTime()) paths.push(path);
    }
    return paths;
  }

  async probe(): Promise<void> {
    const signal = AbortSignal.timeout(probeMsMax);
    try {
      const { path } = await this.#write(Readable.from([Buffer.from("probe")]), signal);
      await rm(path);
    } catch (error) {
      throw signal.aborted
        ? new StoreError("unavailable", "The folder does not answer.")
        : asStoreError(error);
    }
  }

  /** A new name is durable only after its folders are synced. */
  async #syncFolders(place: string): Promise<void> {
    for (let folder = dirname(place); folder.length >= this.#root.length; folder = dirname(folder))
      await syncFolder(folder);
  }

  #placeOf(key: string): string {
    assertKey(key);
    return join(this.#root, key);
  }

  /** @returns a file that is synced to the disk, under a temporary name */
  async #write(body: Readable, signal: AbortSignal): Promise<{ path: string; bytes: number }> {
    const path = join(this.#root, unfinished, randomUUID());
    await makeFolder(dirname(path), folderMode);
    let file: FileHandle | undefined;
    try {
      file = await open(path, "wx", fileMode);
      // `flush`: the bytes are synced to the disk before the stream finishes.
      const sink = file.createWriteStream({ flush: true, highWaterMark: writeBytes });
      await pipeline(body, sink, { signal });
      return { path, bytes: sink.bytesWritten };
    } catch (error) {
      await file?.close().catch(() => undefined);
      await rm(path, { force: true });
      throw error;
    }
  }
}

const removing = (path: string) => async (error: unknown) => {
  await rm(path, { force: true });
  throw error;
};

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw asStoreError(error);
  }
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}

const isAbsent = (error: unknown) => ["ENOENT", "ENOTDIR"].includes(errorCode(error));

const faults: Readonly<Record<string, readonly ["not_found" | "full" | "refused" | "unavailable", string]>> =
  {
    ENOENT: ["not_found", "There is no such object."],
    ENOTDIR: ["not_found", "There is no such object."],
    ENOSPC: ["full", "The disk is full."],
    EDQUOT: ["full", "The quota of the disk is used up."],
    EFBIG: ["full", "The file is larger than the disk allows."],
    EACCES: ["refused", "The folder may not be written to or read."],
    EPERM: ["refused", "The folder may not be written to or read."],
    EROFS: ["refused", "The folder is read-only."],
    EIO: ["unavailable", "The disk failed."],
    EMFILE: ["unavailable", "Too many files are open."],
    ENFILE: ["unavailable", "Too many files are open."],
    ESTALE: ["unavailable", "The disk of the folder is away."],
  };

/** Errors that do not come from the file system are returned unchanged: the body's own, or the reason of an abort. */
function asStoreError(error: unknown): unknown {
  const known = faults[errorCode(error)];
  return known === undefined || error instanceof StoreError
    ? error
    : new StoreError(...known, { cause: error });
}
