// Pure decisions about webhooks.
import { createSecretKey, type KeyObject } from "node:crypto";

const prefix = "whsec_";
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const plain = /^[\x20-\x7e]*$/;

/** The reason why a secret is refused, or undefined. Its length was checked before. */
export function secretFault(secret: string): string | undefined {
  if (!plain.test(secret)) return "the secret holds other characters than the printable ones of ASCII";
  if (!secret.startsWith(prefix)) return undefined;
  const encoded = secret.slice(prefix.length);
  const bytes = base64.test(encoded) ? Buffer.from(encoded, "base64").length : 0;
  return bytes >= 24 && bytes <= 64 ? undefined : "after whsec_ comes base64 of 24 to 64 bytes";
}

/** How to configure a Standard Webhooks library with this secret. The secret itself is not repeated. */
export function librarySentence(secret: string): string {
  return secret.startsWith(prefix)
    ? "Give a library of Standard Webhooks this secret as it is."
    : "Deliveries are signed with the characters of this secret. Libraries of Standard Webhooks read base64: give them whsec_ and the base64 of these characters (printf %s 'SECRET' | base64 -w0).";
}

/** The signing key: the decoded bytes of a `whsec_` secret, or the characters of any other. */
export function signingKey(secret: string): KeyObject {
  return secret.startsWith(prefix)
    ? createSecretKey(secret.slice(prefix.length), "base64")
    : createSecretKey(secret, "utf8");
}

/** A `whsec_` secret. @param random 32 bytes */
export function secretOf(random: Buffer): string {
  return `${prefix}${random.toString("base64")}`;
}

/** The part of a URL for the audit log, which is permanent: path and query may contain tokens. */
export function loggedUrl(url: string): string {
  return URL.parse(url)?.origin ?? "";
}
