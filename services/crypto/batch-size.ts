// Adapts the number of rows per batch to the batches before.
const batchRowsMin = 20;
const batchRowsMax = 2_000;
const batchBytesMax = 4_000_000;
const rowsAtFirst = 100;

/**
 * Aims at batches of a few MB, because a row may have 100 bytes or 100 kB, and at a duration if one is given.
 */
export class BatchSize {
  next = rowsAtFirst;
  readonly #msAim: number | undefined;

  /** @param msAim duration of a batch in ms, or undefined for no aim */
  constructor(msAim: number | undefined) {
    this.#msAim = msAim;
  }

  /** Adjusts `next` to a finished batch. It grows at most fourfold and stays within 20 to 2000 rows. */
  learn(rows: number, bytes: number, tookMs: number): void {
    if (rows === 0) return;
    const fitting = Math.floor(batchBytesMax / Math.max(1, bytes / rows));
    const inTime = this.#msAim === undefined ? batchRowsMax : Math.ceil((rows * this.#msAim) / tookMs);
    this.next = Math.max(batchRowsMin, Math.min(batchRowsMax, this.next * 4, fitting, inTime));
  }
}
