// The secret token in a mail: returned once, stored only as its hash.
import { createHash, randomBytes } from "node:crypto";

const tokenBytes = 32;

/** SHA-256 of the token, 32 bytes. The token is random, so a slow hash would add nothing. */
export function hashMailToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** @returns `token` 43 base64url characters for the mail, `hash` 32 bytes for the table */
export function newMailToken(): { token: string; hash: Buffer } {
  const token = randomBytes(tokenBytes).toString("base64url");
  return { token, hash: hashMailToken(token) };
}
