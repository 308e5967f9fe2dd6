// The error for a text that does not decrypt. The reason is for the log; nothing reveals the plain text.

export type BreakReason =
  /** The bytes have a wrong form: too short, or of an unknown version. */
  | "format"
  /** Encrypted with a key that this tenant does not have, or no longer has. */
  | "key"
  /** Altered, or moved from another row, column, table or tenant; or the wrong key. */
  | "authentication";

/** Clients get 503 `sealed_field_unreadable` instead. */
export class SealBroken extends Error {
  override readonly name = "SealBroken";
  readonly reason: BreakReason;

  constructor(reason: BreakReason) {
    super(`a sealed value does not open (${reason})`);
    this.reason = reason;
  }
}
