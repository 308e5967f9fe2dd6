// A checkpoint: a signed document with the hash of one entry of each of many tenants' logs. It is one line of
// RFC 8785 JSON, its only form. The signature covers the text without the signature, and the next document
// contains the hash of the whole line.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { isSigned, type PublicKeys, type SigningKey } from "./signing-key.ts";

/** The signed position of a tenant's log. */
export interface Head {
  tenant_id: number;
  /** The number of the newest signed entry; 0 when no entry exists any more. */
  seq: number;
  /** The hash of that entry, in hex. */
  hash: string;
  /** Whether all entries since the tenant's previous checkpoint were recomputed and continue it. */
  verified: boolean;
}

interface Facts {
  v: 1;
  /** The number of the document in this installation, without gaps. */
  number: number;
  /** ISO 8601. */
  at: string;
  /** The installation's public URL. */
  installation: string;
  heads: readonly Head[];
}

/** The complete document. `previous` chains the documents, so a removed one is noticed. */
export interface Checkpoint extends Facts {
  /** Hash of the previous document; null for the first. */
  previous: string | null;
}

/** An excerpt for one tenant, which must not see the heads of others. */
export interface Excerpt extends Facts {
  /** Hash of the document that it was taken from. */
  excerpt_of: string;
}

export type Signed<T> = T & { key_id: string; signature: string };

/** Maximum of heads in a document, which keeps it below 100 kB. */
export const headsMax = 500;

/** Signs a document. @returns its line */
export function signDocument(facts: Checkpoint | Excerpt, key: SigningKey): string {
  const unsigned = { ...facts, key_id: key.id };
  return canonical({ ...unsigned, signature: key.sign(canonical(unsigned)) });
}

/** SHA-256 of a line, in hex. */
export function hashOf(line: string): string {
  return createHash("sha256").update(line).digest("hex");
}

/** The signature is the last key before `v`. */
const signed = /,"signature":"([A-Za-z0-9+/]{86}==)","v":1\}$/;

/** Verifies and parses a line. @returns undefined unless one of the keys has signed it */
export function readCheckpoint(line: string, keys: PublicKeys): Signed<Checkpoint> | undefined {
  const [end, signature = ""] = signed.exec(line.slice(-120)) ?? [];
  if (end === undefined) return undefined;
  try {
    // The content is used only after its signature was verified; then this service has written it, so it has
    // this type.
    const document = JSON.parse(line) as Signed<Checkpoint>;
    const key = keys.get(document.key_id);
    const text = `${line.slice(0, -end.length)},"v":1}`;
    if (key === undefined || !isSigned(text, signature, key)) return undefined;
    // The same key signs excerpts, which are not part of the chain.
    return "previous" in document ? document : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A substring of every document that contains a head of the tenant, and of hardly any other. It speeds up a
 * search in many lines.
 */
export function tenantMarker(tenantId: number): string {
  return `"tenant_id":${tenantId},`;
}

function canonical(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("a checkpoint is JSON");
  return text;
}
