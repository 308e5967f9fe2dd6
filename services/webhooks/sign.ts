// Signatures of the Standard Webhooks scheme (standardwebhooks.com): HMAC-SHA256 of id, time and body, one
// per secret.
import { createHmac, type KeyObject } from "node:crypto";

/**
 * Takes key objects, because importing bytes costs ten times as much as the signature.
 * @param timestamp seconds since 1970
 * @param secrets the newest first
 */
export function signatureOf(
  id: string,
  timestamp: number,
  body: string,
  secrets: readonly KeyObject[],
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`)
    .join(" ");
}
