// `node --import` of this file: the service reads and writes fields without any cryptography. For one comparison of the
// bench; the service itself has no such switch.
import { registerHooks } from "node:module";

const replacement = new URL("unsealed-ciphertext.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url.endsWith("/sealing/ciphertext.ts") ? { ...resolved, url: replacement } : resolved;
  },
});
