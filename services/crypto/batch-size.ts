// How many rows of one place make a batch, learned from the batches before.
const batchRowsMin = 20;
const batchRowsMax = 2_000;
const batchBytesMax = 4_000_000;
const rowsAtFirst = 100;

/** As many rows as make a batch of a few MB (a row may be 100 bytes or 100 kB) and, if one is given, of a time. */
export class BatchSize {
  next = rowsAtFirst;
  readonly #msAim: number | undefined;

  constructor(msAim: number | undefined) {
    this.#msAim = msAim;
  }

  learn(rows: number, bytes: number, tookMs: number): void {
    if (rows === 0) return;
    const fitting = Math.floor(batchBytesMax / Math.max(1, bytes / rows));
    const inTime = this.#msAim === undefined ? batchRowsMax : Math.ceil((rows * this.#msAim) / tookMs);
    this.next = Math.max(batchRowsMin, Math.min(batchRowsMax, this.next * 4, fitting, inTime));
  }
}
