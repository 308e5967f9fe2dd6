// The additional data of an encrypted text: the bytes of `tenant|table|column|row`. A page of patients needs hundreds of them, so
// the part before the row is written once.

const beginningBytesMax = 200;
const rowDigitsMax = 20;

interface Beginning {
  bytes: Buffer;
  length: number;
}

/** The additional data for the columns of one tenant. */
export class SealedFieldNames {
  readonly #tenantId: number;
  readonly #tables = new Map<string, Map<string, Beginning>>();

  constructor(tenantId: number) {
    this.#tenantId = tenantId;
  }

  /** @returns bytes that are valid until the next call for the same column */
  of(table: string, column: string, rowId: number): Uint8Array {
    const { bytes, length } = this.#tables.get(table)?.get(column) ?? this.#begin(table, column);
    const end = length + bytes.write(String(rowId), length, "latin1");
    return new Uint8Array(bytes.buffer, bytes.byteOffset, end);
  }

  #begin(table: string, column: string): Beginning {
    const text = `${this.#tenantId}|${table}|${column}|`;
    if (text.length > beginningBytesMax) throw new Error(`the name is too long: ${table}.${column}`);
    const bytes = Buffer.alloc(text.length + rowDigitsMax);
    const beginning = { bytes, length: bytes.write(text, "latin1") };
    const columns = this.#tables.get(table) ?? new Map<string, Beginning>();
    this.#tables.set(table, columns.set(column, beginning));
    return beginning;
  }
}
