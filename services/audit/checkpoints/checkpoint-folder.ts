// Checkpoints as files outside the database: one file per month, one document per line, append-only. The
// folder may be protected against rewriting (`chattr +a`, or write-once storage). The public keys are stored
// beside the checkpoints.
import { open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../shared/start-error.ts";
import { makeFolder } from "../../shared/make-folder.ts";
import { keyIdOf, type PublicKeys, readPublicKey, type SigningKey } from "./signing-key.ts";

/**
 * Bound of the bytes read, from the newest file back: months of a small installation, days of one with ten
 * thousand busy tenants.
 */
const readBytesMax = 256_000_000;
const chunkBytes = 1_048_576;
/** Ten times the bound of a document. A longer line cannot be a document. */
const lineBytesMax = 1_000_000;
const keysMax = 100;

/** A position up to which the folder was read. */
export interface Position {
  file: string;
  offset: number;
}

/** The folder of checkpoints. */
export class CheckpointFolder {
  readonly #path: string;

  /** @param path absolute; the folder is created at the first write */
  constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when the line is synced to the disk. @param at ISO 8601 */
  async append(line: string, at: string): Promise<void> {
    await makeFolder(this.#path, 0o700);
    const file = await open(join(this.#path, `checkpoints-${at.slice(0, 7)}.jsonl`), "a+", 0o600);
    try {
      // A process killed while writing left an incomplete line. It is ended first, so that the new line is
      // complete.
      const incomplete = await endsIncomplete(file);
      await file.appendFile(`${incomplete ? "\n" : ""}${line}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Stores the public key beside the checkpoints unless it exists. */
  async keepKey(key: SigningKey): Promise<void> {
    await makeFolder(this.#path, 0o700);
    await writeFile(join(this.#path, `${key.id}.pem`), key.publicText, { flag: "wx", mode: 0o644 }).catch(
      (error: unknown) => {
        if (errorCode(error) !== "EEXIST") throw error;
      },
    );
  }

  /** The public keys in the folder, by their ids. */
  async keys(): Promise<PublicKeys> {
    const keys = new Map();
    for (const name of (await this.#names(".pem")).slice(0, keysMax)) {
      const key = readPublicKey(await readFile(join(this.#path, name), "utf8"));
      if (key !== undefined) keys.set(keyIdOf(key), key);
    }
    return keys;
  }

  /**
   * Yields complete lines, the oldest first, from `after` on, or as far back as `readBytesMax`.
   * @returns each line and the position of the next one
   */
  async *lines(after?: Position): AsyncGenerator<{ line: string; next: Position }> {
    const start = after ?? (await this.#oldest());
    if (start === undefined) return;
    for (const file of await this.#names(".jsonl")) {
      if (file < start.file) continue;
      let offset = file === start.file ? start.offset : 0;
      for await (const { bytes, line } of linesOf(join(this.#path, file), offset)) {
        offset += bytes;
        yield { line, next: { file, offset } };
      }
    }
  }

  async #oldest(): Promise<Position | undefined> {
    let left = readBytesMax;
    let found: Position | undefined;
    for (const file of (await this.#names(".jsonl")).reverse()) {
      const { size } = await stat(join(this.#path, file));
      found = { file, offset: Math.max(0, size - left) };
      left -= size;
      if (left <= 0) break;
    }
    return found;
  }

  async #names(suffix: string): Promise<string[]> {
    try {
      return (await readdir(this.#path)).filter((name) => name.endsWith(suffix)).sort();
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw error;
    }
  }
}

async function endsIncomplete(file: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString("latin1") !== "\n";
}

/** @returns lines with their length in bytes; a line without a line break is incomplete and left out */
async function* linesOf(path: string, offset: number): AsyncGenerator<{ line: string; bytes: number }> {
  const file = await open(path, "r");
  try {
    const stream = file.createReadStream({ start: offset, highWaterMark: chunkBytes, autoClose: false });
    let parts: Buffer[] = [];
    let pendingBytes = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        const line = Buffer.concat([...parts, chunk.subarray(from, end)]);
        const bytes = pendingBytes + end - from + 1;
        parts = [];
        pendingBytes = 0;
        from = end + 1;
        yield { line: line.toString("utf8"), bytes };
      }
      // Of a line that exceeds the bound only the length is kept.
      pendingBytes += chunk.length - from;
      parts = pendingBytes > lineBytesMax ? [] : [...parts, chunk.subarray(from)];
    }
  } finally {
    await file.close();
  }
}
