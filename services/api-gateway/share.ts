// Something of which there is so much and no more (requests under way, bytes of bodies), and of which one address or user may hold
// a part only, so that nobody shuts all others out.

export class Share<Key extends string | number = string> {
  readonly #max: number;
  readonly #perHolderMax: number;
  /** Who holds something, and how much. */
  readonly #held = new Map<Key, number>();
  #taken = 0;

  constructor(max: number, perHolderMax: number) {
    this.#max = max;
    this.#perHolderMax = perHolderMax;
  }

  get taken(): number {
    return this.#taken;
  }

  /** @returns whether so much was left; if not, nothing has been taken */
  take(holder: Key, amount: number): boolean {
    const own = (this.#held.get(holder) ?? 0) + amount;
    if (own > this.#perHolderMax || this.#taken + amount > this.#max) return false;
    this.#taken += amount;
    this.#held.set(holder, own);
    return true;
  }

  giveBack(holder: Key, amount: number): void {
    const own = (this.#held.get(holder) ?? 0) - amount;
    this.#taken -= amount;
    if (own > 0) this.#held.set(holder, own);
    else this.#held.delete(holder);
  }
}
