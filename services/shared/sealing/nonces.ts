// Nonces for AES-GCM, 96 random bits each (NIST SP 800-38D 8.2.2). They are generated in bulk: one call per nonce would cost more
// than the cipher. A used nonce is not secret, so the pool needs no wiping.
import { randomFillSync } from "node:crypto";

export const nonceBytes = 12;
const pool = Buffer.alloc(nonceBytes * 512);
let next = pool.length;

/** Writes a nonce that was not used before to `target` at `offset`. */
export function writeNonce(target: Buffer, offset: number): void {
  if (next === pool.length) {
    randomFillSync(pool);
    next = 0;
  }
  pool.copy(target, offset, next, next + nonceBytes);
  next += nonceBytes;
}
