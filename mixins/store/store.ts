// The interface of a store for backups: a folder or an object store. Both keep the same promises, so a caller does not need to
// know which one it uses. test/unit/mixins/store/store-promises.ts tests an adapter.
import type { Readable } from "node:stream";

export interface StoredObject {
  key: string;
  bytes: number;
  modifiedAt: Date;
}

export interface Store {
  /**
   * Writes an object from a stream of unknown length, and replaces an object of that key. It exists under `key` only after this
   * resolves, completely or not at all: a failed or aborted put leaves the old object unchanged. (If a store disappears while it
   * completes an object, the object may exist completely although the put failed.)
   * @param body is destroyed when the put fails
   * @throws StoreError; the body's own error, or the signal's reason, unchanged
   */
  put(key: string, body: Readable, signal: AbortSignal): Promise<{ bytes: number }>;
  /**
   * Writes a small object unless the key exists: of several concurrent callers one succeeds. (An S3 store without the condition
   * `If-None-Match` is asked first whether the object exists. Two callers at the same moment may then both succeed.)
   * @returns false when the object exists already; it stays unchanged
   */
  putOnce(key: string, bytes: Buffer, signal: AbortSignal): Promise<boolean>;
  /**
   * Streams the bytes of the object. If the store fails on the way, the stream ends with a StoreError; it never ends early
   * without one.
   * @throws StoreError `not_found` when there is no such object
   */
  get(key: string, signal: AbortSignal): Promise<Readable>;
  /** @returns undefined when there is no such object */
  stat(key: string): Promise<{ bytes: number; modifiedAt: Date } | undefined>;
  /** Complete objects only, in no particular order. `prefix` is the beginning of keys, not a folder. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /** Removes an object: `stat`, `get` and `list` no longer find it. To remove a missing object is not an error. */
  remove(key: string): Promise<Removal>;
  /** Counts unfinished puts, also of dead processes, that have not advanced since `before`. */
  countLeftovers(before: Date): Promise<number>;
  /** Removes such unfinished puts. @returns how many */
  removeLeftovers(before: Date): Promise<number>;
  /** A small write and read for health, within 2 s. @throws StoreError */
  probe(): Promise<void>;
}

/** The result of a removal. */
export interface Removal {
  /** The store keeps the bytes as an older version. A person with rights on versions can restore or delete them. */
  bytesStay: boolean;
  /** Nobody can delete the bytes before this time. Undefined if they are not locked, or the store does not say. */
  lockedUntil: Date | undefined;
}

export type StoreFault =
  /** No such object. */
  | "not_found"
  /** No room is left. */
  | "full"
  /** Credentials or rights do not suffice, or the object is under a retention. */
  | "refused"
  /** It cannot be reached, does not answer in time, or has an internal error. */
  | "unavailable";

/** The error of a store adapter. The message is for the operators' log: it holds no secret, key or path. */
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

/** Whether a text is a key: at most 512 characters and 8 segments of letters, digits, `_`, `.` and `-`, without a leading dot. */
export const isKey = (text: string) => text.length <= keyCharsMax && keyPattern.test(text);

/** Only this program makes keys: a key of another form is a bug, and must never become a path. */
export function assertKey(key: string): void {
  if (!isKey(key)) throw new Error("not a key of a stored object");
}
