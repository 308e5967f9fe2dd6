// Which of a sender's numbered messages have come, as one bit each for the latest numbers. Numbers only grow, so what lies
// below the window counts as come: it is too old to be told from a repeat.

/** How far a message may be overtaken by later ones of its sender. NATS keeps their order, so this is ample. */
export const windowLength = 8_192;

export class CounterWindow {
  readonly #bits = new Uint32Array(windowLength / 32);
  #highest = -1;

  has(counter: number): boolean {
    if (counter > this.#highest) return false;
    if (counter <= this.#highest - windowLength) return true;
    const place = counter % windowLength;
    return ((this.#bits[place >>> 5] ?? 0) & (1 << (place & 31))) !== 0;
  }

  /** @param counter one that `has` does not know */
  add(counter: number): void {
    if (counter > this.#highest) {
      this.#forgetUpTo(counter);
      this.#highest = counter;
    }
    this.#write(counter, true);
  }

  /** The places of numbers that are skipped held earlier ones. */
  #forgetUpTo(counter: number): void {
    if (counter - this.#highest >= windowLength) this.#bits.fill(0);
    else for (let skipped = this.#highest + 1; skipped < counter; skipped++) this.#write(skipped, false);
  }

  #write(counter: number, come: boolean): void {
    const place = counter % windowLength;
    const word = this.#bits[place >>> 5] ?? 0;
    const bit = 1 << (place & 31);
    this.#bits[place >>> 5] = come ? word | bit : word & ~bit;
  }
}
