// Searches encrypted text without decrypting it: equal texts of a tenant have equal keyed hashes. A reader of the database sees
// which rows are equal, and learns nothing else without the tenant's index key.
import { createHmac, type KeyObject } from "node:crypto";

/** 32 bytes. The column is part of the input, so equal texts in two columns have different hashes. */
export function blindIndex(indexKey: KeyObject, column: string, normalised: string): Buffer {
  return createHmac("sha256", indexKey).update(`${column}|${normalised}`).digest();
}

/** "  Ada   LOVELACE " and "ada lovelace" are the same name. */
export function normaliseName(name: string): string {
  return name.normalize("NFC").trim().toLowerCase().replace(/\s+/gu, " ").normalize("NFC");
}

/** The digits, with a leading + for + or 00: "+49 (30) 1234" and "0049 30 1234" are the same number. */
export function normalisePhone(phone: string): string {
  const text = phone.trim();
  const digits = text.replace(/\D/g, "");
  if (text.startsWith("+")) return `+${digits}`;
  return digits.startsWith("00") ? `+${digits.slice(2)}` : digits;
}
