// Walks along a tenant's chain, from any entry on, and names what is wrong with it. It never stops at a fault: behind it the
// chain goes on with the hash that the faulty entry has.
import type { Fault } from "./faults.rules.ts";
import { entryHash, genesis, isCanonical, type Link, type StoredEntry } from "./audit.rules.ts";

/** From `seq` to `to_seq`, which are the same but for runs of entries that are missing or stray. */
export interface Bad {
  seq: number;
  to_seq: number;
  reason: Fault;
}

const listedMax = 100;

export class ChainWalk {
  #last: Link;
  /** Hashes that the next entry may name as the one before; undefined behind a gap, where nobody knows. */
  #before: readonly string[] | undefined;
  #checked = 0;
  readonly #bad: Bad[] = [];
  #badTotal = 0;
  #firstBad: number | null = null;

  /** @param from where the walk begins: the first entry to come is the one after it */
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

  /** The first hundred. */
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
   * @param entry the next one there is, in the order of `seq`
   * @param signed the hash that a checkpoint says this entry has
   */
  take(entry: StoredEntry, signed?: string): void {
    if (entry.seq > this.#last.seq + 1) {
      this.missing(entry.seq - 1);
      this.#before = undefined;
    }
    const computed = entryHash(entry.prev_hash, entry);
    const fault = this.#faultOf(entry, computed);
    if (fault !== undefined) this.found(entry.seq, entry.seq, fault);
    else if (signed !== undefined && signed !== entry.hash) this.found(entry.seq, entry.seq, "checkpoint");
    // One altered hash is one bad entry: the next one names what it was.
    this.#before = computed === entry.hash ? [entry.hash] : [entry.hash, computed];
    this.#last = { seq: entry.seq, hash: entry.hash };
    this.#checked++;
  }

  /** Nothing is there from behind the last entry on, up to and with `toSeq`. */
  missing(toSeq: number): void {
    if (toSeq > this.#last.seq) this.found(this.#last.seq + 1, toSeq, "missing");
  }

  /** The head names its last entry. */
  end(head: Link): void {
    if (this.#last.seq === head.seq && this.#before?.includes(head.hash) === false)
      this.found(head.seq, head.seq, "head");
  }

  found(seq: number, toSeq: number, reason: Fault): void {
    if (this.#bad.length < listedMax) this.#bad.push({ seq, to_seq: toSeq, reason });
    this.#badTotal++;
    this.#firstBad = Math.min(seq, this.#firstBad ?? seq);
  }

  #faultOf(entry: StoredEntry, computed: string): Fault | undefined {
    const linked = this.#before?.includes(entry.prev_hash) ?? true;
    if (!linked) {
      // Its own `prev_hash` was altered, or the entry before it was: either way it is whole but for the link.
      const fits = [computed, ...(this.#before ?? []).map((before) => entryHash(before, entry))];
      return fits.includes(entry.hash) ? "link" : "hash";
    }
    if (computed !== entry.hash) return "hash";
    return isCanonical(entry.changes) ? undefined : "not_canonical";
  }
}
