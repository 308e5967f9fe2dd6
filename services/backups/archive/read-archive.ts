// Reads an archive from the store as a stream of tables. Everything is compared with the verified manifest:
// sizes, order, checksums, completeness. The caller must not rely on the data before the end was reached.
import { createHash, type Hash, type KeyObject } from "node:crypto";
import { pipeline, type Readable, Transform } from "node:stream";
import { constants, createZstdDecompress } from "node:zlib";
import { errorCode } from "../../shared/start-error.ts";
import { ArchiveDamaged, opening } from "../../shared/archive/sealed-stream.ts";
import type { Store } from "../../../mixins/store/store.ts";
import { type ArchivedTable, archiveNameOf, dataKeyOf, type Manifest } from "./manifest.ts";
import { readTar } from "./tar.ts";

/** zstd -1 needs 512 kB. An archive that needs more memory was not created by this service. */
const windowLogMax = 23;
/**
 * Tar headers, padding and the manifest, in addition to the bytes of the tables: 512 bytes and up to 511
 * bytes per file.
 */
const overheadBytes = 4 * 1024 * 1024;

/**
 * Bytes of a table that are hashed and passed on at a time. PostgreSQL processes some forty rows of it
 * meanwhile, so a waiting request is not delayed longer.
 */
const sliceBytes = 64 * 1024;

/** What takes the tables' bytes, table after table. */
export interface TableSink {
  begin(table: ArchivedTable): Promise<void>;
  part(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** For a read that only verifies. */
export const nowhere: TableSink = {
  begin: async () => {},
  part: async () => {},
  end: async () => {},
};

/** Called with the number of bytes read. It is awaited, so it can delay the reading. */
export interface TakenBytes {
  (bytes: number): Promise<void> | void;
}

/**
 * @param manifest verified
 * @throws ArchiveDamaged, errors of the store and of the sink
 */
export async function readArchive(
  store: Store,
  manifest: Manifest,
  key: KeyObject,
  sink: TableSink,
  progress: TakenBytes,
  signal: AbortSignal,
): Promise<void> {
  const { contents, file } = manifest;
  const source = await store.get(dataKeyOf(contents.backup_id), signal);
  const sum = createHash("sha256");
  const plain = openedArchive(source, manifest, key, sum);
  try {
    const reader = new TableReader(contents.tables, sink, progress);
    for await (const { name, parts } of readTar(plain)) await reader.take(name, parts);
    await reader.finish(contents);
  } catch (error) {
    throw asDamage(error);
  } finally {
    plain.destroy();
    source.destroy();
  }
  if (sum.digest("hex") !== file.sha256)
    throw new ArchiveDamaged("The archive is not the one of its manifest.");
}

function openedArchive(source: Readable, { contents, file }: Manifest, key: KeyObject, sum: Hash): Readable {
  const tableBytes = contents.tables.reduce((bytes, table) => bytes + table.bytes, 0);
  const decompress = createZstdDecompress({
    params: { [constants.ZSTD_d_windowLogMax]: windowLogMax },
    chunkSize: 256 * 1024,
  });
  const last = atMost(tableBytes + Math.ceil(tableBytes / 512) + overheadBytes);
  const head = opening(key, archiveNameOf(contents));
  // When one stream fails, all are destroyed with its error, which the reader of the last one receives.
  pipeline(source, head, atMost(file.bytes, sum), decompress, last, () => {});
  return last;
}

/**
 * Passes at most this many bytes, so an archive that would unpack to more than the manifest says is refused
 * early.
 */
function atMost(bytesMax: number, sum?: Hash): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      sum?.update(chunk);
      if (bytes > bytesMax) done(new ArchiveDamaged("The archive holds more than its manifest says."));
      else done(null, chunk);
    },
  });
}

class TableReader {
  readonly #tables: readonly ArchivedTable[];
  readonly #sink: TableSink;
  readonly #progress: TakenBytes;
  #at = -1;
  #nth = 0;
  #bytes = 0;
  #hash = createHash("sha256");
  #own: Buffer | undefined;

  constructor(tables: readonly ArchivedTable[], sink: TableSink, progress: TakenBytes) {
    this.#tables = tables;
    this.#sink = sink;
    this.#progress = progress;
  }

  async take(name: string, parts: readonly Buffer[]): Promise<void> {
    if (this.#own !== undefined) throw wrong();
    if (name === "manifest.json") {
      this.#own = Buffer.concat(parts);
      return;
    }
    const [, table, nth] = /^tables\/(\w+)\/(\d{8})\.copy$/.exec(name) ?? [];
    // Every table has at least COPY's header and trailer, so each one appears, in order.
    if (table !== this.#tables[this.#at]?.name) await this.#next();
    const expected = this.#tables[this.#at];
    if (expected === undefined || table !== expected.name || Number(nth) !== ++this.#nth) throw wrong();
    for (const bytes of slicesOf(parts)) {
      this.#bytes += bytes.length;
      if (this.#bytes > expected.bytes) throw wrong();
      this.#hash.update(bytes);
      await this.#sink.part(bytes);
      await this.#progress(bytes.length);
    }
  }

  async #next(): Promise<void> {
    await this.#end();
    const table = this.#tables[++this.#at];
    if (table === undefined) throw wrong();
    this.#nth = 0;
    this.#bytes = 0;
    this.#hash = createHash("sha256");
    await this.#sink.begin(table);
  }

  async #end(): Promise<void> {
    const table = this.#tables[this.#at];
    if (table === undefined) return;
    if (this.#bytes !== table.bytes || this.#hash.digest("hex") !== table.sha256) throw wrong();
    await this.#sink.end();
  }

  async finish(contents: Manifest["contents"]): Promise<void> {
    await this.#end();
    const isWhole = this.#at === this.#tables.length - 1;
    if (!isWhole || this.#own?.toString() !== `${JSON.stringify(contents, null, 1)}\n`) throw wrong();
  }
}

function* slicesOf(parts: readonly Buffer[]): Iterable<Buffer> {
  for (const part of parts)
    for (let from = 0; from < part.length; from += sliceBytes) yield part.subarray(from, from + sliceBytes);
}

const wrong = () => new ArchiveDamaged("The archive is not the one of its manifest.");

/** zstd data that cannot be read was changed before the encryption, or was not created by this service. */
function asDamage(error: unknown): unknown {
  return errorCode(error).startsWith("ZSTD_error")
    ? new ArchiveDamaged("The archive cannot be unpacked.")
    : error;
}
