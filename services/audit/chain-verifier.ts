// Verifies a tenant's hash chain from any entry on and lists its faults. It continues after a fault with the
// hash that the faulty entry has.
import type { Fault } from "./faults.rules.ts";
import { entryHash, genesis, isCanonical, type Link, type StoredEntry } from "./audit.rules.ts";

/** A fault. `seq` and `to_seq` differ only for a range of missing or stray entries. */
export interface Bad {
  seq: number;
  to_seq: number;
  reason: Fault;
}

const listedMax = 100;

/** A verification in progress. Entries are passed in the order of their numbers. */
export class ChainVerifier {
  #last: Link;
  /**
   * The hashes that the next entry may have as `prev_hash`; undefined after a gap, where they are unknown.
   */
  #before: readonly string[] | undefined;
  #checked = 0;
  readonly #bad: Bad[] = [];
  #badTotal = 0;
  #firstBad: number | null = null;

  /** @param from the verified position; the first entry passed is the one after it */
  constructor(from: Link = genesis) {
    this.#last = from;
    this.#before = [from.hash];
  }

  get last(): Link {
    return this.#last;
  }

  get checked(): number {
    return this.#checked;
  }

  /** The first hundred faults. */
  get bad(): readonly Bad[] {
    return this.#bad;
  }

  get badTotal(): number {
    return this.#badTotal;
  }

  get firstBad(): number | null {
    return this.#firstBad;
  }

  /**
   * Verifies one entry.
   * @param entry the next existing entry, in the order of `seq`
   * @param signed the entry's hash according to a checkpoint
   */
  check(entry: StoredEntry, signed?: string): void {
    if (entry.seq > this.#last.seq + 1) {
      this.reportMissing(entry.seq - 1);
      this.#before = undefined;
    }
    const computed = entryHash(entry.prev_hash, entry);
    const fault = this.#faultOf(entry, computed);
    if (fault !== undefined) this.report(entry.seq, entry.seq, fault);
    else if (signed !== undefined && signed !== entry.hash) this.report(entry.seq, entry.seq, "checkpoint");
    // One altered hash counts as one fault: the next entry contains the original hash.
    this.#before = computed === entry.hash ? [entry.hash] : [entry.hash, computed];
    this.#last = { seq: entry.seq, hash: entry.hash };
    this.#checked++;
  }

  /** Reports the entries after the last one up to and including `toSeq` as missing. */
  reportMissing(toSeq: number): void {
    if (toSeq > this.#last.seq) this.report(this.#last.seq + 1, toSeq, "missing");
  }

  /** Compares the last entry with the head. */
  end(head: Link): void {
    if (this.#last.seq === head.seq && this.#before?.includes(head.hash) === false)
      this.report(head.seq, head.seq, "head");
  }

  /** Reports a fault. */
  report(seq: number, toSeq: number, reason: Fault): void {
    if (this.#bad.length < listedMax) this.#bad.push({ seq, to_seq: toSeq, reason });
    this.#badTotal++;
    this.#firstBad = Math.min(seq, this.#firstBad ?? seq);
  }

  #faultOf(entry: StoredEntry, computed: string): Fault | undefined {
    const linked = this.#before?.includes(entry.prev_hash) ?? true;
    if (!linked) {
      // Either its own `prev_hash` or the entry before was altered; in both cases the entry itself is intact.
      const fits = [computed, ...(this.#before ?? []).map((before) => entryHash(before, entry))];
      return fits.includes(entry.hash) ? "link" : "hash";
    }
    if (computed !== entry.hash) return "hash";
    return isCanonical(entry.changes) ? undefined : "not_canonical";
  }
}
