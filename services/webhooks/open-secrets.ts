// Opens the secrets of a webhook as signing keys. A secret that does not open (altered in the database, or
// its key is lost) is distinguished from one that cannot be opened at the moment: only a new secret repairs
// the first.
import type { KeyObject } from "node:crypto";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { signingKey } from "./webhooks.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

type Column = "secret" | "previous_secret";

export type SealedSecrets = RowOf<
  "webhooks",
  "id" | "secret",
  {
    /** Null when there is none, or its 24 hours are over. */
    previous_secret: Buffer | null;
  }
>;

/** A webhook's signing keys. */
export interface OpenSecrets {
  /** Newest first. Empty when the current secret does not open: the previous one alone never signs. */
  secrets: KeyObject[];
  unreadable: Column[];
}

/** @param keys must have been requested with these secrets */
export function openSecrets(
  keys: TenantKeys,
  { id, secret, previous_secret: previous }: SealedSecrets,
): OpenSecrets {
  const unreadable: Column[] = [];
  const present = openSecret(keys, "secret", id, secret);
  if (present === undefined) unreadable.push("secret");
  const past = previous === null ? null : openSecret(keys, "previous_secret", id, previous);
  if (past === undefined) unreadable.push("previous_secret");
  if (present === undefined) return { secrets: [], unreadable };
  const texts = typeof past === "string" ? [present, past] : [present];
  return { secrets: texts.map(signingKey), unreadable };
}

/** Undefined when it does not open. */
export function openSecret(keys: TenantKeys, column: Column, id: number, sealed: Buffer): string | undefined {
  try {
    return keys.open("webhooks", column, id, sealed);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    return undefined;
  }
}
