// The hash of an entry, and the canonical form of its `changes`.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { AuditEntry } from "./audit.contract.ts";

/**
 * An entry as it was hashed: `changes` is the stored text, because the text after parsing and serialising
 * again could differ.
 */
export type StoredEntry = Omit<AuditEntry, "changes"> & { changes: string };

/**
 * @param prevHash lower-case hex
 * @returns SHA-256(prev_hash ‖ JSON of the entry without its two hashes), hex
 */
export function entryHash(prevHash: string, entry: StoredEntry): string {
  const { prev_hash: _prev, hash: _hash, action, changes, ...facts } = entry;
  // RFC 8785 sorts the keys: `action` and `changes` come before all others.
  const rest = (canonicalize(facts) ?? "{}").slice(1);
  return createHash("sha256")
    .update(Buffer.from(prevHash, "hex"))
    .update(`{"action":${JSON.stringify(action)},"changes":${changes},${rest}`)
    .digest("hex");
}

/**
 * Whether the text equals its RFC 8785 form: no spaces, sorted and unique keys, numbers and characters as
 * defined there.
 */
export function isCanonical(text: string): boolean {
  if (text === "{}") return true;
  try {
    return canonicalize(JSON.parse(text)) === text;
  } catch {
    // For example a lone surrogate: PostgreSQL accepts it as JSON, but it cannot be serialised again.
    return false;
  }
}

/** A position in a chain: an entry's number and its hash in hex. */
export interface Link {
  seq: number;
  hash: string;
}

/** The position before the first entry. */
export const genesis: Link = { seq: 0, hash: "00".repeat(32) };
