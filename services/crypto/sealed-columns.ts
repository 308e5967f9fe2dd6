// SQL for the sealed columns, generated from the registry, so that a newly registered column is resealed,
// verified and counted without a change here. The names come from the registry, never from a request.
import { sealedTables } from "../shared/sealing/registry.ts";

/** A table with sealed columns. */
export interface SealedPlace {
  table: keyof typeof sealedTables;
  id: string;
  tenant: string;
  columns: readonly string[];
}

/**
 * All tables with sealed columns. A rotation stores its position as an index in this list
 * (`rotation_tenants.place`), so the order must not change.
 */
export const sealedPlaces: readonly SealedPlace[] = Object.entries(sealedTables).map(([table, rest]) => ({
  // Object.entries widens the registry's keys to string.
  table: table as keyof typeof sealedTables,
  ...rest,
}));

/**
 * SQL condition: any sealed column of the row uses another key.
 * @param keyBytes an SQL expression of four bytes
 */
export function usesOtherKeySql({ columns }: SealedPlace, keyBytes: string): string {
  return columns.map((column) => `substring(${column} from 2 for 4) <> ${keyBytes}`).join(" or ");
}

/**
 * SQL condition: any sealed column of the row uses the key.
 * @param keyBytes an SQL expression of four bytes
 */
export function usesKeySql({ columns }: SealedPlace, keyBytes: string): string {
  return columns.map((column) => `substring(${column} from 2 for 4) = ${keyBytes}`).join(" or ");
}

/** The four bytes of a key's id in a ciphertext. */
export function keyIdBytes(keyId: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(keyId);
  return bytes;
}
