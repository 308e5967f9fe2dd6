// The description of a fault: where it is looked for, and how it is repaired. The texts are for operators.

export interface KnownFault {
  /** Folders of the services that look for it, each in its own data. */
  readonly at: readonly string[];
  readonly title: string;
  readonly problem: string;
  /** Null: only a person can repair it, and is notified. */
  readonly remedy: string | null;
  /** Limits: what neither the remedy nor the search for the fault ever does. */
  readonly never: string;
  /** The risk of the remedy; without a remedy, the risk of leaving the fault alone. */
  readonly risk: "low" | "medium" | "high";
  /** How often the detector runs. */
  readonly everyMinutes: number;
  /**
   * How long the detector may still report the fault after the remedy: some remedies start work that takes a while. Default 0.
   */
  readonly settlesWithinS?: number;
}
