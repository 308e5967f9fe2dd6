// How a token names the key that signed it (`kid`). Every bearer sees it; of the secret it tells nothing, as that is random
// and long.
import { createHash } from "node:crypto";

export function tokenKeyId(secret: string): string {
  return createHash("sha256").update("records jwt kid\0").update(secret).digest("hex").slice(0, 16);
}
