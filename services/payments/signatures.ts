// Comparing HMAC-SHA256 signatures. Every secret and every signature is tried, and none is compared in a time that
// depends on where it differs.
import { createHmac, timingSafeEqual } from "node:crypto";

const hexDigest = /^[0-9a-f]{64}$/i;

/** @param given hex; what is not is passed over */
export function isSignedBy(
  secrets: readonly string[],
  given: readonly string[],
  content: readonly (string | Buffer)[],
): boolean {
  const candidates = given.filter((each) => hexDigest.test(each)).map((each) => Buffer.from(each, "hex"));
  let found = false;
  for (const secret of secrets) {
    const hmac = createHmac("sha256", secret);
    for (const part of content) hmac.update(part);
    const right = hmac.digest();
    for (const candidate of candidates) found = timingSafeEqual(candidate, right) || found;
  }
  return found;
}
