// What does not open. The reason is for the log; neither it nor anything else tells what was sealed.

export type BreakReason =
  /** Not bytes of ours: too short, or of a version unknown here. */
  | "format"
  /** Sealed with a key that this tenant does not have (any more). */
  | "key"
  /** Altered, or moved here from another row, column, table or tenant; or the wrong key. */
  | "authentication";

export class SealBroken extends Error {
  override readonly name = "SealBroken";
  readonly reason: BreakReason;

  constructor(reason: BreakReason) {
    super(`a sealed value does not open (${reason})`);
    this.reason = reason;
  }
}
