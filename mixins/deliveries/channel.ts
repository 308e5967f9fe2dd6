// The interface between the delivery worker and a channel (webhooks, messenger). A channel sends events to its targets.

/** One event that is sent to one target, with everything that must be the same at each attempt. */
export interface Delivery {
  /** The same at all attempts. Receivers use it to detect duplicates. */
  id: string;
  tenantId: number;
  targetId: number;
  /** Numbers the deliveries of a target without gaps, in the order of its events. */
  seq: number;
  kind: string;
  /** JSON text, with the same bytes at each attempt. */
  payload: string;
  /** ISO 8601 in UTC. */
  occurredAt: string;
  /** Attempts so far, over all causes (the event itself, a resend, a recovery). */
  attempts: number;
  /** Attempts so far for the present cause. */
  tries: number;
  /** The recorded trace in which the event was published, as a `traceparent`. It is not sent to the target. */
  trace?: string | null;
}

export interface TargetRef {
  tenantId: number;
  targetId: number;
}

export interface Attempt {
  /**
   * gone: failed, and another attempt is useless. withheld: the target is no longer allowed to receive this event. unsent: the
   * delivery was given back, and does not count as attempted.
   */
  outcome: "delivered" | "failed" | "gone" | "withheld" | "unsent";
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** The beginning of the answer: at most 1 kB of UTF-8, without NUL. */
  response: string | null;
  /** The delay that the receiver asked for (`Retry-After`). */
  retryAfterSeconds?: number | undefined;
}

export interface AttemptOutcome<Settings> {
  delivery: Delivery;
  attempt: Attempt;
  settings: Settings;
}

export interface Channel<Settings> {
  readonly name: "webhook" | "messenger";
  /**
   * The settings with which each target is reached now. Called at most once a second. A target that is missing in the result
   * gets nothing more, and its pending deliveries are canceled. "later": the settings cannot be read at the moment.
   */
  settingsOf(targets: readonly TargetRef[]): Promise<ReadonlyMap<number, Settings | "later">>;
  /** Never rejects. Returns soon after `signal` fires. */
  send(delivery: Delivery, settings: Settings, signal: AbortSignal): Promise<Attempt>;
  /** Called after the attempts are in the log. It may be skipped when the process dies in between. */
  recorded?(outcomes: readonly AttemptOutcome<Settings>[]): Promise<void>;
}
