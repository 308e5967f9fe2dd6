// Signatures of the Standard Webhooks scheme (standardwebhooks.com): HMAC-SHA256 of id, time and body, one per secret.
import { createHmac } from "node:crypto";

/** @param timestamp seconds since 1970; `secrets` the newest first */
export function signatureOf(
  id: string,
  timestamp: number,
  body: string,
  secrets: readonly Uint8Array[],
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`)
    .join(" ");
}
