// The plain form of an archive: a tar of small files, as POSIX (ustar) has it, so that ordinary tools open it. A file's size
// stands before it, so tables are cut into parts that fit into memory; put together again they are the table.
import { ArchiveDamaged } from "../../shared/archive/sealed-stream.ts";

const blockBytes = 512;
/** Of one file. Whoever reads holds one in memory. */
const fileBytesMax = 4 * 1024 * 1024;

export interface TarFile {
  name: string;
  bytes: Buffer;
}

/** As it is read: its bytes in the chunks in which they came. */
export interface ReadTarFile {
  name: string;
  parts: readonly Buffer[];
}

/** One file with what stands before and behind it. @param name ASCII, at most 100 characters */
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

/** Two empty blocks. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

function sumOf(head: Buffer): number {
  let sum = 0;
  for (const byte of head) sum += byte;
  return sum;
}

/**
 * The files of a tar that `tarFile` wrote, one at a time: plain files under plain names, and nothing else that a tar may hold
 * (links, folders, owners).
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

/** Takes as many bytes as asked for from chunks of any size. */
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

  /** So many bytes, as they came: not copied. */
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
