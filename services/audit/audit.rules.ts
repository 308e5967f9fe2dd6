// What makes a chain of entries whole.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { AuditEntry } from "./audit.contract.ts";

/** @param prevHash lower-case hex; @returns SHA-256(prev_hash ‖ RFC 8785 JSON of the entry without its two hashes), hex */
export function entryHash(prevHash: string, entry: AuditEntry): string {
  const { prev_hash: _prev, hash: _hash, ...facts } = entry;
  return createHash("sha256")
    .update(Buffer.from(prevHash, "hex"))
    .update(canonicalize(facts) ?? "")
    .digest("hex");
}

export interface Link {
  seq: number;
  hash: string;
}

export const genesis: Link = { seq: 0, hash: "00".repeat(32) };

/** Whether `entry` is the very next link after `last`: no gap, the right predecessor, an unaltered content. */
export function follows(last: Link, entry: AuditEntry): boolean {
  return (
    entry.seq === last.seq + 1 && entry.prev_hash === last.hash && entry.hash === entryHash(last.hash, entry)
  );
}
