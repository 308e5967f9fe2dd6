// Finding sealed text without opening it: equal texts of a tenant have equal keyed hashes. Whoever reads the database
// sees which rows are equal, and without the tenant's index key nothing else.
import { createHmac, type KeyObject } from "node:crypto";

/** 32 bytes. The column is part of it, so equal texts of two columns are not seen to be equal. */
export function blindIndex(indexKey: KeyObject, column: string, normalised: string): Buffer {
  return createHmac("sha256", indexKey).update(`${column}|${normalised}`).digest();
}

/** "  Ada   LOVELACE " and "ada lovelace" are one name. */
export function normaliseName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase().replace(/\s+/gu, " ").normalize("NFC");
}

/** The digits, with a leading + where one (or 00) stands: "+49 (30) 1234" and "0049 30 1234" are one number. */
export function normalisePhone(phone: string): string {
  const text = phone.trim();
  const digits = text.replace(/\D/g, "");
  if (text.startsWith("+")) return `+${digits}`;
  return digits.startsWith("00") ? `+${digits.slice(2)}` : digits;
}
