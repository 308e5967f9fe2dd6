// How many requests of a caller's rate an operation counts for, by its cost. Operations without a weight count for one. With the
// default rate of a user (6,000 per minute) a weight of 600 allows ten per minute.
export const weights = {
  /** A page with its exact total, possibly searched; or a list without pages. */
  list: 5,
  /** Asks every process, or counts over all rows. */
  survey: 10,
  /** Writes a permanent entry to the audit log, even for a small change. */
  setting: 20,
  /** Hashes a password. */
  hash: 20,
  /** A thousand rows at once, whole. */
  export: 50,
  /** Resolves an address, or sends something. */
  outbound: 60,
  /** Reads and seals up to a thousand patients. */
  bulk: 200,
  /** Seconds of work, or a job of minutes. */
  heavy: 600,
} as const;
