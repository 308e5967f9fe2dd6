// A checkpoint: a signed document that says of many tenants' logs which hash an entry has. One line of RFC 8785 JSON, which is
// its only form: what is signed is that text without the signature, and the next document names the hash of the whole of it.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { isSigned, type PublicKeys, type SigningKey } from "./signing-key.ts";

export interface Head {
  tenant_id: number;
  /** Of the newest entry that is signed; 0: there was none any more. */
  seq: number;
  /** Of that entry, hex. */
  hash: string;
  /** Whether all entries since this tenant's checkpoint before were recomputed and continue it. */
  verified: boolean;
}

interface Facts {
  v: 1;
  /** Counts the installation's documents, without a gap. */
  number: number;
  /** ISO 8601. */
  at: string;
  /** The installation's public address. */
  installation: string;
  heads: readonly Head[];
}

/** As it goes out: complete and in order, so that a document that is taken away is missed by the next. */
export interface Checkpoint extends Facts {
  /** Hash of the document before; null: this is the first. */
  previous: string | null;
}

/** For one tenant, who has no business with the others' heads. */
export interface Excerpt extends Facts {
  /** Hash of the document it is taken from. */
  excerpt_of: string;
}

export type Signed<T> = T & { key_id: string; signature: string };

/** One document holds no more, and so stays below 100 kB. */
export const headsMax = 500;

/** @returns the line */
export function signDocument(facts: Checkpoint | Excerpt, key: SigningKey): string {
  const unsigned = { ...facts, key_id: key.id };
  return canonical({ ...unsigned, signature: key.sign(canonical(unsigned)) });
}

/** Hex. */
export function hashOf(line: string): string {
  return createHash("sha256").update(line).digest("hex");
}

/** The signature stands before the last key, `v`. */
const signed = /,"signature":"([A-Za-z0-9+/]{86}==)","v":1\}$/;

/** @returns undefined when the line is no document that one of the keys has signed */
export function readCheckpoint(line: string, keys: PublicKeys): Signed<Checkpoint> | undefined {
  const [end, signature = ""] = signed.exec(line.slice(-120)) ?? [];
  if (end === undefined) return undefined;
  try {
    // Not believed before its signature is verified; then one of our keys wrote it, so it has this shape.
    const document = JSON.parse(line) as Signed<Checkpoint>;
    const key = keys.get(document.key_id);
    const text = `${line.slice(0, -end.length)},"v":1}`;
    if (key === undefined || !isSigned(text, signature, key)) return undefined;
    // The same key signs excerpts, which stand in no order.
    return "previous" in document ? document : undefined;
  } catch {
    return undefined;
  }
}

/** Part of each document with a head of the tenant, and hardly of any other: for whoever looks through many lines. */
export function traceOf(tenantId: number): string {
  return `"tenant_id":${tenantId},`;
}

function canonical(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("a checkpoint is JSON");
  return text;
}
