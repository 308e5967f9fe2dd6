// Reseals a batch of rows in memory: a field that opens is sealed with the tenant's current key, a field that
// does not open is reported.
import { setImmediate as nextTurn } from "node:timers/promises";
import { keyIdOf, namedKey } from "../shared/sealing/ciphertext.ts";
import { type BreakReason, SealBroken } from "../shared/sealing/seal-broken.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import type { SealedPlace } from "./sealed-columns.ts";

/** A row as it was read. `row_version` shows whether it was changed since. */
export type SealedRow = { id: number; row_version: string } & Record<string, Buffer | null>;

/** A field that does not open. */
interface BrokenField {
  rowId: number;
  column: string;
  keyId: number | null;
  reason: BreakReason;
}

/** The result for a batch. */
export interface Resealed {
  /** The rows to write. A row in which nothing changes is not among them. */
  rows: { id: number; rowVersion: string; fields: (Buffer | null)[] }[];
  broken: BrokenField[];
}

/** After this many fields (about half a millisecond) the event loop serves requests. */
const fieldsPerTurn = 40;

/** Reseals the rows with the tenant's current field key; fields already sealed with it stay unchanged. */
export async function resealRows(
  keys: TenantKeys,
  place: SealedPlace,
  rows: readonly SealedRow[],
): Promise<Resealed> {
  const resealed: Resealed = { rows: [], broken: [] };
  let sealedFields = 0;
  for (const row of rows) {
    const fields = place.columns.map((column) => resealField(keys, place, column, row, resealed.broken));
    const isChanged = fields.some((field, at) => field !== row[place.columns[at] ?? ""]);
    if (isChanged) resealed.rows.push({ id: row.id, rowVersion: row.row_version, fields });
    sealedFields += fields.length;
    if (sealedFields >= fieldsPerTurn) {
      sealedFields = 0;
      await nextTurn();
    }
  }
  return resealed;
}

function resealField(
  keys: TenantKeys,
  { table }: SealedPlace,
  column: string,
  row: SealedRow,
  broken: BrokenField[],
): Buffer | null {
  const sealed = row[column];
  if (!Buffer.isBuffer(sealed)) return null;
  try {
    if (keyIdOf(sealed) === keys.fieldKeyId) return sealed;
    return keys.reseal(table, column, row.id, sealed);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    broken.push({ rowId: row.id, column, keyId: namedKey(sealed), reason: error.reason });
    return sealed;
  }
}
