/** The single-use secrets that mails carry. Only their hash is stored; 256 random bits need no salt or slow hash. */
import { createHash, randomBytes } from "node:crypto";

/** `token`: 43 base64url characters for the mail; `hash`: its SHA-256 for the database. */
export function newMailToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString("base64url");
  return { token, hash: hashMailToken(token) };
}

/** The hash to look a token up by; any text is taken. */
export function hashMailToken(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}
