// The port to where backups are kept: a folder, or an object store. Both keep the same promises, so whoever uses it need
// not know which one it is. test/store/store-promises.ts holds an adapter to them.
import type { Readable } from "node:stream";

export interface StoredObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

export interface Store {
  /**
   * Writes an object from a stream of unknown length; an object of that key that is there already is replaced. It exists
   * under `key` only after this resolves, whole, or not at all: a failed or aborted put leaves the old object as it was.
   * (A store that goes away just while it finishes an object may have it, whole, although the put failed.)
   * @param body is destroyed when the put fails
   * @throws StoreError; the body's own error, or the signal's reason, as they are
   */
  put(key: string, body: Readable, signal: AbortSignal): Promise<{ bytes: number }>;
  /**
   * Writes a small object unless there is one of that key: of several who do so, one succeeds. (An S3 store that does not know
   * the condition `If-None-Match` is asked first whether it is there, which two at the same moment may both hear denied.)
   * @returns false when there is one already, which stays as it is
   */
  putOnce(key: string, bytes: Buffer, signal: AbortSignal): Promise<boolean>;
  /**
   * The object's bytes. The stream fails with a StoreError where the store fails on the way; it ends early only with an error.
   * @throws StoreError `not_found` when it is not there
   */
  get(key: string, signal: AbortSignal): Promise<Readable>;
  /** @returns undefined when it is not there */
  stat(key: string): Promise<{ bytes: number; modifiedAt: Date } | undefined>;
  /** Whole objects only, in no particular order. `prefix` is the beginning of keys, not a folder. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /** From now on it is not there: `stat`, `get` and `list` do not find it. What is not there is removed already. */
  remove(key: string): Promise<Removal>;
  /** How many unfinished puts, also of processes that died, have not moved since. */
  countLeftovers(before: Date): Promise<number>;
  /** Ends them. @returns how many */
  removeLeftovers(before: Date): Promise<number>;
  /** A small write and read, within 2 s: for health. @throws StoreError */
  probe(): Promise<void>;
}

/** What is left of an object that was removed. */
export interface Removal {
  /** The store keeps its bytes as an older version. Who may read versions can bring them back, or end them. */
  bytesStay: boolean;
  /** Until then nobody ends them. Undefined where they are not locked, or the store does not say. */
  lockedUntil: Date | undefined;
}

export type StoreFault =
  /** No such object. */
  | "not_found"
  /** No room is left. */
  | "full"
  /** Credentials or rights do not suffice, or the object is under a retention. */
  | "refused"
  /** It cannot be reached, does not answer in time, or fails in itself. */
  | "unavailable";

/** What an adapter throws. The message is for the log of operators: it names no secret, key or path. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly fault: StoreFault;

  constructor(fault: StoreFault, sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.fault = fault;
  }
}

const keyCharsMax = 512;
const keyPattern = /^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*){0,7}$/;

export const isKey = (text: string) => text.length <= keyCharsMax && keyPattern.test(text);

/** Keys are made by this program alone; one of another form is a fault of it, never a path. */
export function assertKey(key: string): void {
  if (!isKey(key)) throw new Error("no key of a stored object");
}
