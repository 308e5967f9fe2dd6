// Something of which there is so much and no more (requests under way, bytes of bodies), and of which one address may hold
// a part only, so that nobody shuts all others out.

export class Share {
  readonly #max: number;
  readonly #perAddressMax: number;
  /** Addresses that hold something, and how much. */
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(max: number, perAddressMax: number) {
    this.#max = max;
    this.#perAddressMax = perAddressMax;
  }

  get taken(): number {
    return this.#taken;
  }

  /** @returns whether so much was left; if not, nothing has been taken */
  take(address: string, amount: number): boolean {
    const own = (this.#held.get(address) ?? 0) + amount;
    if (own > this.#perAddressMax || this.#taken + amount > this.#max) return false;
    this.#taken += amount;
    this.#held.set(address, own);
    return true;
  }

  giveBack(address: string, amount: number): void {
    const own = (this.#held.get(address) ?? 0) - amount;
    this.#taken -= amount;
    if (own > 0) this.#held.set(address, own);
    else this.#held.delete(address);
  }
}
