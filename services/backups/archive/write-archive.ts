// Writes an encrypted archive to the store from one snapshot of the database, as one stream: COPY, tar, zstd,
// encryption. The memory in use does not grow with the tables, and no plain text is written anywhere.
import { createHash, type Hash, type KeyObject } from "node:crypto";
import { Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress } from "node:zlib";
import { sealing } from "../../shared/archive/sealed-stream.ts";
import { type Bulk, quoted } from "../../shared/database/bulk.ts";
import { type CopyOut, copyChunkBytes } from "../../shared/database/copy-out.ts";
import type { Store } from "../../../mixins/store/store.ts";
import { columnsLeftOut, type TableName, tablesOf } from "../table-decisions.ts";
import { type ArchivedTable, archiveNameOf, type Contents, dataKeyOf } from "./manifest.ts";
import { tarEnd, tarFile } from "./tar.ts";

/** Smaller than the maximum of a file. A chunk from COPY becomes one part without copying. */
const partBytes = copyChunkBytes;
const compressionLevel = 1;

/** Receives the progress, and decides how much is processed at a time and when to pause. */
export interface Meter {
  tell(done: { step: string; rows: number; bytes: number; table: number; tables: number }): void;
  readonly pieceBytes: number;
  /** @param reading is paused meanwhile, so that the server pauses too */
  rest(reading: CopyOut): Promise<void>;
}

export interface Written {
  contents: Contents;
  file: { bytes: number; sha256: string };
  storedBytes: number;
}

/** @param bulk a connection with an open snapshot @param facts the manifest's contents without the tables */
export async function writeArchive(
  bulk: Bulk,
  store: Store,
  facts: Omit<Contents, "tables">,
  key: KeyObject,
  meter: Meter,
  signal: AbortSignal,
): Promise<Written> {
  const contents: Contents = { ...facts, tables: [] };
  const file = new Summing();
  const body = sealing(key, archiveNameOf(contents));
  const compress = createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: compressionLevel },
    chunkSize: 256 * 1024,
  });
  // The first failure is the reason; the other stream is aborted, and its error is ignored.
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const flowing = Promise.all([
    pipeline(compress, file, body, { signal: either }),
    writeFiles(bulk, contents, meter, compress).catch((error: unknown) => {
      compress.destroy(asError(error));
      throw error;
    }),
  ]).catch((error: unknown) => {
    body.destroy(asError(error));
    throw error;
  });
  flowing.catch(() => undefined);
  try {
    const { bytes } = await store.put(dataKeyOf(contents.backup_id), body, signal);
    await flowing;
    return { contents, file: { bytes: file.bytes, sha256: file.sha256() }, storedBytes: bytes };
  } catch (error) {
    stop.abort(error);
    throw error;
  }
}

const asError = (error: unknown) =>
  error instanceof Error ? error : new Error("the archive could not be written");

async function writeFiles(bulk: Bulk, contents: Contents, meter: Meter, to: Writable): Promise<void> {
  const at = new Date(contents.taken_at);
  const names = tablesOf(contents.type);
  const packing = new Packing(to);
  const done = { rows: 0, bytes: 0 };
  for (const [place, name] of names.entries()) {
    const columns = await columnsOf(bulk, contents, name);
    const copy = bulk.copyOut(selectOf(contents, name, columns));
    const hash = createHash("sha256");
    let bytes = 0;
    let before: Buffer | undefined;
    for await (const [nth, part] of partsOf(copy)) {
      for (const piece of tarFile({ name: partName(name, nth), bytes: part }, at))
        for (const slice of slicesOf(piece, meter)) {
          if (piece === part) hash.update(slice);
          await packing.add(slice);
          await meter.rest(copy);
        }
      // Of this part one slice may not be taken yet; of the one before it all are.
      if (before !== undefined) copy.giveBack(before);
      before = part;
      bytes += part.length;
      const told = { step: name, rows: done.rows, bytes: done.bytes + bytes };
      meter.tell({ ...told, table: place, tables: names.length });
    }
    const table: ArchivedTable = { name, columns, rows: copy.rowCount, bytes, sha256: hash.digest("hex") };
    contents.tables.push(table);
    done.rows += table.rows;
    done.bytes += bytes;
    meter.tell({ step: name, ...done, table: place + 1, tables: names.length });
  }
  const own = { name: "manifest.json", bytes: Buffer.from(`${JSON.stringify(contents, null, 1)}\n`) };
  for (const piece of tarFile(own, at)) await packing.add(piece);
  await packing.add(tarEnd);
  await packing.all();
  to.end();
}

/** Asked before each slice for its maximum size: a part that began at full speed may continue with pauses. */
function* slicesOf(piece: Buffer, meter: Meter): Iterable<Buffer> {
  for (let from = 0; from < piece.length; ) {
    const slice = piece.subarray(from, from + meter.pieceBytes);
    from += slice.length;
    yield slice;
  }
}

// While a piece is compressed in a thread of Node's pool, the next ones are hashed and read from the server.
class Packing {
  readonly #to: Writable;
  #last: Promise<void> = Promise.resolve();
  #beforeLast: Promise<void> = Promise.resolve();

  constructor(to: Writable) {
    this.#to = to;
  }

  /** Resolves when all were taken but this one and the one before it: their memory may be used again. */
  add(bytes: Buffer): Promise<void> {
    const taken = this.#beforeLast;
    this.#beforeLast = this.#last;
    this.#last = new Promise((resolve, reject) => {
      this.#to.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    // A later write gets the error.
    this.#last.catch(() => undefined);
    return taken;
  }

  all(): Promise<void> {
    return this.#last;
  }
}

const partName = (table: string, nth: number) => `tables/${table}/${String(nth).padStart(8, "0")}.copy`;

/** The parts of a stream, numbered from 1. Small chunks are combined to a part. */
async function* partsOf(stream: AsyncIterable<Buffer>): AsyncGenerator<[number, Buffer]> {
  let held: Buffer[] = [];
  let bytes = 0;
  let nth = 0;
  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; from += partBytes) {
      const piece = chunk.length <= partBytes ? chunk : chunk.subarray(from, from + partBytes);
      held.push(piece);
      bytes += piece.length;
      if (bytes < partBytes) continue;
      yield [++nth, held.length === 1 ? piece : Buffer.concat(held, bytes)];
      held = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield [++nth, Buffer.concat(held, bytes)];
}

async function columnsOf(
  bulk: Bulk,
  { type }: Contents,
  table: TableName,
): Promise<ArchivedTable["columns"]> {
  const columns = await bulk.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = to_regclass('public.' || quote_ident($1)) and attnum > 0 and not attisdropped and attgenerated = ''
       and attname <> all($2::text[]) order by attnum`,
    [table, columnsLeftOut(type, table)],
  );
  if (columns.length === 0) throw new Error(`the table ${table} is missing`);
  return columns;
}

/** A tenant's rows are selected here, and in addition by the row-level policies. */
function selectOf(
  { tenant_id: tenantId }: Contents,
  table: string,
  columns: ArchivedTable["columns"],
): string {
  const list = columns.map(({ name }) => quoted(name)).join(", ");
  const own = table === "tenants" ? "id" : "tenant_id";
  const where = tenantId === null ? "" : ` where ${own} = ${tenantId}`;
  return `(select ${list} from public.${quoted(table)}${where})`;
}

/** Counts the bytes and computes their checksum. */
class Summing extends Transform {
  bytes = 0;
  readonly #hash: Hash = createHash("sha256");

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: null, chunk: Buffer) => void,
  ): void {
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    done(null, chunk);
  }

  sha256(): string {
    return this.#hash.digest("hex");
  }
}
