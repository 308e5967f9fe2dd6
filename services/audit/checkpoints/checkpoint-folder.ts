// Checkpoints as files, outside the database: one a month, a line a document, only ever added to. A folder that lets nobody
// rewrite (`chattr +a`, or write-once storage) serves as well. The public keys lie beside them.
import { open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../shared/start-error.ts";
import { makeFolder } from "../../shared/make-folder.ts";
import { keyIdOf, type PublicKeys, readPublicKey, type SigningKey } from "./signing-key.ts";

/** Read from the newest files back: months of a small installation, days of one with ten thousand busy tenants. */
const readBytesMax = 256_000_000;
const chunkBytes = 1_048_576;
/** Ten times a document's bound: what is longer is none. */
const lineBytesMax = 1_000_000;
const keysMax = 100;

/** Where somebody has read to. */
export interface Position {
  file: string;
  offset: number;
}

export class CheckpointFolder {
  readonly #path: string;

  /** @param path absolute; made when something is first put there */
  constructor(path: string) {
    this.#path = path;
  }

  /** Resolves when the line is on the disk. @param at ISO 8601 */
  async append(line: string, at: string): Promise<void> {
    await makeFolder(this.#path, 0o700);
    const file = await open(join(this.#path, `checkpoints-${at.slice(0, 7)}.jsonl`), "a+", 0o600);
    try {
      // Whoever was killed in the midst of a line left its beginning: it ends here, and the line follows whole.
      const torn = await endsTorn(file);
      await file.appendFile(`${torn ? "\n" : ""}${line}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Puts the public key beside the checkpoints; one that is there stays. */
  async keepKey(key: SigningKey): Promise<void> {
    await makeFolder(this.#path, 0o700);
    await writeFile(join(this.#path, `${key.id}.pem`), key.publicText, { flag: "wx", mode: 0o644 }).catch(
      (error: unknown) => {
        if (errorCode(error) !== "EEXIST") throw error;
      },
    );
  }

  /** Public keys that lie here, under the ids that they have. */
  async keys(): Promise<PublicKeys> {
    const keys = new Map();
    for (const name of (await this.#names(".pem")).slice(0, keysMax)) {
      const key = readPublicKey(await readFile(join(this.#path, name), "utf8"));
      if (key !== undefined) keys.set(keyIdOf(key), key);
    }
    return keys;
  }

  /**
   * Whole lines, the oldest first, from behind `after` on, or as far back as `readBytesMax`.
   * @returns each line and where the next one begins
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

async function endsTorn(file: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString("latin1") !== "\n";
}

/** @returns lines with their length in bytes; a line without an end is not there yet */
async function* linesOf(path: string, offset: number): AsyncGenerator<{ line: string; bytes: number }> {
  const file = await open(path, "r");
  try {
    const stream = file.createReadStream({ start: offset, highWaterMark: chunkBytes, autoClose: false });
    let parts: Buffer[] = [];
    let held = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        const line = Buffer.concat([...parts, chunk.subarray(from, end)]);
        const bytes = held + end - from + 1;
        parts = [];
        held = 0;
        from = end + 1;
        yield { line: line.toString("utf8"), bytes };
      }
      // Of an endless line only the length is kept.
      held += chunk.length - from;
      parts = held > lineBytesMax ? [] : [...parts, chunk.subarray(from)];
    }
  } finally {
    await file.close();
  }
}
