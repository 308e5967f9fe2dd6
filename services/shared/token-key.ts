// The id of the key that signed a token (`kid`). Every bearer sees it. It reveals nothing about the secret, which is random and
// long.
import { createHash } from "node:crypto";

/** @returns 16 hexadecimal digits */
export function tokenKeyId(secret: string): string {
  return createHash("sha256").update("records jwt kid\0").update(secret).digest("hex").slice(0, 16);
}
