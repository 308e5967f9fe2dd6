// How many requests of a caller's rate an operation counts for, by what it costs; what is not weighed counts for one. At the
// default rate of a user (6000 a minute) a weight of 600 is ten a minute.
export const weights = {
  /** A page with its exact total, maybe searched; or a list without pages. */
  list: 5,
  /** Asks every process, or counts over all there is. */
  survey: 10,
  /** Leaves an entry in the audit log for ever, whatever little has changed. */
  setting: 20,
  /** Hashes a password. */
  hash: 20,
  /** A thousand rows at once, whole. */
  export: 50,
  /** Looks an address up, or has something sent. */
  outbound: 60,
  /** Reads and seals up to a thousand patients. */
  bulk: 200,
  /** Seconds of work, or a job of minutes. */
  heavy: 600,
} as const;
