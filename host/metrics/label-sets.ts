// The label sets of one metric. Each is created once and reused, so counting a request allocates nothing. Their number is
// bounded; further ones count as "other": a series uses memory here, and in Prometheus for hours.

const other = "other";

export type Labels = Readonly<Record<string, string>>;

/** @param max number of label sets */
export class LabelSets {
  readonly #names: readonly [string, string];
  readonly #max: number;
  readonly #fixed: Labels;
  readonly #made = new Map<string, Map<string, Labels>>();
  readonly #others: Labels;
  #size = 0;

  /** @param fixed labels that all sets have in addition */
  constructor(names: readonly [string, string], max: number, fixed: Labels = {}) {
    this.#names = names;
    this.#max = max;
    this.#fixed = fixed;
    this.#others = this.#make(other, other);
  }

  get size(): number {
    return this.#size;
  }

  of(first: string, second: string): Labels {
    const known = this.#made.get(first)?.get(second);
    if (known !== undefined) return known;
    if (this.#size >= this.#max) return this.#others;
    const fresh = this.#make(first, second);
    const seconds = this.#made.get(first);
    if (seconds === undefined) this.#made.set(first, new Map([[second, fresh]]));
    else seconds.set(second, fresh);
    this.#size++;
    return fresh;
  }

  #make(first: string, second: string): Labels {
    const [a, b] = this.#names;
    return Object.freeze({ ...this.#fixed, [a]: first, [b]: second });
  }
}
