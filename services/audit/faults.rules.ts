// The kinds of faults of a log.

/**
 * hash: the stored hash differs from the computed one. link: `prev_hash` is not the hash of the previous
 * entry. not_canonical: `changes` is not in RFC 8785 form. missing: the entry does not exist. stray: a number
 * below 1 or above the head. head: the head is missing or differs from the last entry. checkpoint: the entry
 * differs from the signed one.
 */
export const faults = ["hash", "link", "not_canonical", "missing", "stray", "head", "checkpoint"] as const;
export type Fault = (typeof faults)[number];
