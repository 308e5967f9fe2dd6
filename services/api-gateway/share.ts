// A bounded resource (requests in progress, bytes of bodies) of which one address or user may use only a part, so that nobody
// locks out all others.

export class Share<Key extends string | number = string> {
  readonly #max: number;
  readonly #perHolderMax: number;
  /** The amount that each holder uses. */
  readonly #held = new Map<Key, number>();
  #taken = 0;

  constructor(max: number, perHolderMax: number) {
    this.#max = max;
    this.#perHolderMax = perHolderMax;
  }

  get taken(): number {
    return this.#taken;
  }

  /** @returns whether the amount was available; if not, nothing was taken */
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
