// How a file of any size reaches a client: its bytes never go over the bus. The action answers where the gateway may fetch
// them, from a process that can read the store, once and within seconds; there they are encrypted, and the key comes with
// the answer, over the bus, which is sealed.
import { object } from "../params/results.ts";
import { integer, text } from "../params/rules.ts";
import type { ValueOf } from "../params/types.ts";

export const downloadShape = object({
  /** Of the other process, with a ticket that is good for one request. */
  address: text(),
  /** Base64; opens what comes from there. */
  key: text(),
  /** What the archive must be asked for by. */
  archive: text(),
  file_name: text(),
  bytes: integer(),
});
export type Download = ValueOf<typeof downloadShape>;
