// Names for counting what strangers choose freely (addresses, e-mail addresses that belong to nobody): a keyed hash, cut to
// one of so many slots. Thus there are never more counters than slots, what was typed is not in them, and nobody can
// choose with whom to share one. Two that do share one share its bound.
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

export class Slots {
  readonly #key: KeyObject;

  constructor(secret: string) {
    this.#key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", "records count slots v1", 32)));
  }

  /** @param slots a power of two, at most 2^32 */
  of(what: string, name: string, slots: number): number {
    return createHmac("sha256", this.#key).update(`${what}|${name}`).digest().readUInt32BE() % slots;
  }
}

const addressSlots = 65_536;

/** The name of an address in `lockouts`, over all accounts and tenants. */
export function addressSlot(slots: Slots, address: string): number {
  return slots.of("address", address, addressSlots);
}
