// The plain format of an archive: a POSIX (ustar) tar of small files, which ordinary tools can open. A tar
// header contains the file's size, so tables are cut into parts that fit in memory; concatenated they are the
// table.
import { ArchiveDamaged } from "../../shared/archive/sealed-stream.ts";

const blockBytes = 512;
/** Bound of one file, because a reader holds one file in memory. */
const fileBytesMax = 4 * 1024 * 1024;

/** A file to write. */
export interface TarFile {
  name: string;
  bytes: Buffer;
}

/** A file that was read; its bytes in the chunks as received. */
export interface ReadTarFile {
  name: string;
  parts: readonly Buffer[];
}

/** Yields the header, the bytes and the padding of a file. @param name ASCII, at most 100 characters */
export function* tarFile({ name, bytes }: TarFile, at: Date): Iterable<Buffer> {
  if (!/^[\x21-\x7e]{1,100}$/.test(name) || bytes.length > fileBytesMax)
    throw new Error(`no file for an archive: ${name}`);
  const head = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  head.write(name, 0, "latin1");
  head.write(octal(0o600, 7), 100);
  head.write(octal(0, 7), 108);
  head.write(octal(0, 7), 116);
  head.write(octal(bytes.length, 11), 124);
  head.write(octal(Math.floor(at.getTime() / 1000), 11), 136);
  head.write("        ", 148);
  head.write("0", 156);
  head.write("ustar\x0000", 257, "latin1");
  head.write(`${sumOf(head).toString(8).padStart(6, "0")}\0 `, 148);
  yield head;
  yield bytes;
  const over = bytes.length % blockBytes;
  if (over > 0) yield Buffer.alloc(blockBytes - over);
}

/** The end of a tar: two empty blocks. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

function sumOf(head: Buffer): number {
  let sum = 0;
  for (const byte of head) sum += byte;
  return sum;
}

/**
 * Reads the files of a tar that `tarFile` wrote, one at a time. Anything else that a tar may contain (links,
 * directories, owners) is refused.
 * @throws ArchiveDamaged
 */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<ReadTarFile> {
  const blocks = new Blocks(source);
  for (;;) {
    const head = await blocks.take(blockBytes);
    if (head.every((byte) => byte === 0)) break;
    const { name, size } = readHead(head);
    const parts = await blocks.parts(size);
    const over = size % blockBytes;
    if (over > 0) await blocks.take(blockBytes - over);
    yield { name, parts };
  }
  const rest = await blocks.take(blockBytes);
  if (!rest.every((byte) => byte === 0) || (await blocks.hasMore())) throw damaged();
}

const damaged = () => new ArchiveDamaged("The archive holds what none of ours holds.");

function readHead(head: Buffer): { name: string; size: number } {
  const text = (from: number, to: number) => head.toString("latin1", from, to).split("\0")[0] ?? "";
  const number = (from: number, to: number) => {
    const digits = text(from, to).trim();
    return /^[0-7]{1,11}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
  };
  const name = text(0, 100);
  const size = number(124, 136);
  const unsummed = Buffer.from(head).fill(" ", 148, 156);
  const isPlain = text(257, 263) === "ustar" && head[156] === 0x30 && sumOf(unsummed) === number(148, 156);
  if (!isPlain || !/^[a-z0-9][a-z0-9_./-]*$/.test(name) || name.includes("..") || !(size <= fileBytesMax))
    throw damaged();
  return { name, size };
}

/** Reads exact numbers of bytes from chunks of any size. */
class Blocks {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(bytes: number): Promise<Buffer> {
    const [first = Buffer.alloc(0), ...more] = await this.parts(bytes);
    return more.length === 0 ? first : Buffer.concat([first, ...more], bytes);
  }

  /** Returns this many bytes in the received chunks, without copying. */
  async parts(bytes: number): Promise<readonly Buffer[]> {
    const parts: Buffer[] = [];
    for (let wanted = bytes; wanted > 0; ) {
      if (this.#held.length === 0) await this.#more();
      const part = this.#held.subarray(0, wanted);
      this.#held = this.#held.subarray(part.length);
      wanted -= part.length;
      parts.push(part);
    }
    return parts;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done === true) throw new ArchiveDamaged("The archive ends too early.");
    this.#held = value;
  }

  async hasMore(): Promise<boolean> {
    return this.#held.length > 0 || (await this.#source.next()).done !== true;
  }
}
