// What can be wrong with a log.

/**
 * hash: not the hash of what the entry holds. link: does not name the hash of the entry before. not_canonical: `changes` is not
 * in its RFC 8785 form, hashed as it stands. missing: not there. stray: a number below 1 or behind the head. head: the head is gone,
 * or has another hash than the last entry. checkpoint: not the hash, or not the entry, that was signed.
 */
export const faults = ["hash", "link", "not_canonical", "missing", "stray", "head", "checkpoint"] as const;
export type Fault = (typeof faults)[number];
