// How a client downloads a file of any size without sending its bytes over the bus. The action answers with an address of a
// process that can read the store. The gateway may fetch from it once, within seconds. There the bytes are encrypted; the key is
// in the answer, which travels over the encrypted bus.
import { object } from "../params/results.ts";
import { integer, text } from "../params/rules.ts";
import type { ValueOf } from "../params/types.ts";

export const downloadShape = object({
  /** The address of the other process, with a ticket for one request. */
  address: text(),
  /** Base64. Decrypts the downloaded bytes. */
  key: text(),
  /** The name that the archive must have. */
  archive: text(),
  file_name: text(),
  bytes: integer(),
});
export type Download = ValueOf<typeof downloadShape>;
