// A way to reach those who are told of events: how a channel (webhooks, a messenger) plugs into the delivery worker.

/** One event on its way to one target, with all it takes to say it in the same words each time. */
export interface Delivery {
  /** Of all its tries: receivers know it by this. */
  id: string;
  tenantId: number;
  targetId: number;
  /** Counts a target's deliveries without a gap, in the order of its events. */
  seq: number;
  kind: string;
  /** JSON, byte for byte the same each time. */
  payload: string;
  /** ISO 8601 in UTC. */
  occurredAt: string;
  /** So far, of all causes. */
  attempts: number;
  /** So far, of the present cause. */
  tries: number;
  /** The recorded trace in which the event was told, as `traceparent`; it is not sent. */
  trace?: string | null;
}

export interface TargetRef {
  tenantId: number;
  targetId: number;
}

export interface Attempt {
  /**
   * gone: failed, and there is no use in trying again; withheld: the target may not be told of it any more; unsent: given
   * back, as if it had not been tried.
   */
  outcome: "delivered" | "failed" | "gone" | "withheld" | "unsent";
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** The beginning of what was answered, at most 1 kB in UTF-8 and without NUL. */
  response: string | null;
  /** What the other side asked for. */
  retryAfterSeconds?: number | undefined;
}

export interface Outcome<Settings> {
  delivery: Delivery;
  attempt: Attempt;
  settings: Settings;
}

export interface Channel<Settings> {
  readonly name: "webhook" | "messenger";
  /**
   * How targets are reached now; asked at most once a second. One that is absent is not told anything any more: what is on
   * its way to it is canceled. "later": cannot be found out at the moment.
   */
  settingsOf(targets: readonly TargetRef[]): Promise<ReadonlyMap<number, Settings | "later">>;
  /** Rejects never; ends soon after `signal`. */
  send(delivery: Delivery, settings: Settings, signal: AbortSignal): Promise<Attempt>;
  /** Told after the attempts are in the log. Bears being left out when the process dies in between. */
  recorded?(outcomes: readonly Outcome<Settings>[]): Promise<void>;
}
