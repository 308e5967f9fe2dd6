// What an entry's hash is made of, and what makes its `changes` canonical.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { AuditEntry } from "./audit.contract.ts";

/**
 * An entry as the chain holds it: `changes` is the text that is stored. That text is what was hashed, so it is the truth:
 * parsed and written anew it could be another one.
 */
export type StoredEntry = Omit<AuditEntry, "changes"> & { changes: string };

/** @param prevHash lower-case hex; @returns SHA-256(prev_hash ‖ JSON of the entry without its two hashes), hex */
export function entryHash(prevHash: string, entry: StoredEntry): string {
  const { prev_hash: _prev, hash: _hash, action, changes, ...facts } = entry;
  // RFC 8785 sorts keys: `action` and `changes` come before all others.
  const rest = (canonicalize(facts) ?? "{}").slice(1);
  return createHash("sha256")
    .update(Buffer.from(prevHash, "hex"))
    .update(`{"action":${JSON.stringify(action)},"changes":${changes},${rest}`)
    .digest("hex");
}

/** Whether the text is its own RFC 8785 form: no spaces, sorted keys, none twice, numbers and characters as written there. */
export function isCanonical(text: string): boolean {
  if (text === "{}") return true;
  try {
    return canonicalize(JSON.parse(text)) === text;
  } catch {
    // A lone surrogate, for example: JSON to PostgreSQL, and nothing that could be written again.
    return false;
  }
}

export interface Link {
  seq: number;
  hash: string;
}

export const genesis: Link = { seq: 0, hash: "00".repeat(32) };
