// Comparison of HMAC-SHA256 signatures. All secrets and all signatures are tried, in a time that does not
// depend on the place of a difference.
import { createHmac, timingSafeEqual } from "node:crypto";

const hexDigest = /^[0-9a-f]{64}$/i;

/** @param given signatures in hex; malformed ones are ignored */
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
