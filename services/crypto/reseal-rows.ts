// Sealing a batch of rows anew, in memory: what opens is sealed with the tenant's present key, what does not is named.
import { setImmediate as nextTurn } from "node:timers/promises";
import { keyIdOf, namedKey } from "../shared/sealing/ciphertext.ts";
import { type BreakReason, SealBroken } from "../shared/sealing/seal-broken.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import type { SealedPlace } from "./sealed-columns.ts";

/** A row as the walk reads it: `row_version` tells whether anybody has changed it since. */
export type SealedRow = { id: number; row_version: string } & Record<string, Buffer | null>;

interface BrokenField {
  rowId: number;
  column: string;
  keyId: number | null;
  reason: BreakReason;
}

export interface Resealed {
  /** Those that are to be written: a row in which nothing opens stays as it is. */
  rows: { id: number; rowVersion: string; fields: (Buffer | null)[] }[];
  broken: BrokenField[];
}

/** After so many fields, some half millisecond, requests have their turn. */
const fieldsPerTurn = 40;

export async function resealRows(
  keys: TenantKeys,
  place: SealedPlace,
  rows: readonly SealedRow[],
): Promise<Resealed> {
  const resealed: Resealed = { rows: [], broken: [] };
  let fields = 0;
  for (const row of rows) {
    const anew = place.columns.map((column) => resealField(keys, place, column, row, resealed.broken));
    const isChanged = anew.some((field, at) => field !== row[place.columns[at] ?? ""]);
    if (isChanged) resealed.rows.push({ id: row.id, rowVersion: row.row_version, fields: anew });
    fields += anew.length;
    if (fields >= fieldsPerTurn) {
      fields = 0;
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
