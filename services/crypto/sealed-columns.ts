// SQL about what is sealed, made from the registry alone, so that a column that is registered is walked, verified and
// counted without a change here. Names come from the registry, never from a request.
import { sealedTables } from "../shared/sealing/registry.ts";

export interface SealedPlace {
  table: keyof typeof sealedTables;
  id: string;
  tenant: string;
  columns: readonly string[];
}

export const sealedPlaces: readonly SealedPlace[] = Object.entries(sealedTables).map(([table, rest]) => ({
  // Object.entries widens the registry's keys to string.
  table: table as keyof typeof sealedTables,
  ...rest,
}));

/** True for a row in which any sealed column names another key. @param keyBytes an expression of four bytes */
export function namesOther({ columns }: SealedPlace, keyBytes: string): string {
  return columns.map((column) => `substring(${column} from 2 for 4) <> ${keyBytes}`).join(" or ");
}

/** True for a row in which any sealed column names the key. @param keyBytes an expression of four bytes */
export function names({ columns }: SealedPlace, keyBytes: string): string {
  return columns.map((column) => `substring(${column} from 2 for 4) = ${keyBytes}`).join(" or ");
}

/** A key's id as its ciphertexts carry it. */
export function keyIdBytes(keyId: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(keyId);
  return bytes;
}
