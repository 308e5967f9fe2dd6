// Keys for counters of values that a stranger can choose freely (addresses, e-mail addresses without an
// account): a keyed hash, reduced to a fixed number of slots. So the number of counters is bounded, the typed
// value is not stored, and nobody can choose whose slot to share. Values that share a slot share its limit.
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";

/** Computes slots with a key derived from `secret`. */
export class Slots {
  readonly #key: KeyObject;

  constructor(secret: string) {
    this.#key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", "records count slots v1", 32)));
  }

  /** @param what separates kinds of keys @param slots a power of two, at most 2^32 @returns 0 to slots - 1 */
  of(what: string, name: string, slots: number): number {
    return createHmac("sha256", this.#key).update(`${what}|${name}`).digest().readUInt32BE() % slots;
  }
}

const addressSlots = 65_536;

/** The key of an address in `lockouts`, over all accounts and tenants. */
export function addressSlot(slots: Slots, address: string): number {
  return slots.of("address", address, addressSlots);
}
