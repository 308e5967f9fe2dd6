// What is known of a fault before it happens: where it is looked for, and what is done about it. Texts are for operators.

export interface KnownFault {
  /** Names of service folders that look for it, each in what it owns. */
  readonly at: readonly string[];
  readonly title: string;
  readonly problem: string;
  /** Null: nothing can be done without a person, who is told. */
  readonly remedy: string | null;
  /** What the remedy, or looking for the fault, never does. */
  readonly never: string;
  /** Of the remedy; where there is none, of the fault being left alone. */
  readonly risk: "low" | "medium" | "high";
  /** How often it is looked for. */
  readonly everyMinutes: number;
  /** So long the detector may go on finding it after the remedy: what the remedy begins takes a while. 0 unless stated. */
  readonly settlesWithinS?: number;
}
