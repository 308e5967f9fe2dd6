// How notifications determine a payment. Its status results from applying the table of transitions to all its
// notifications in the order in which they OCCURRED, whatever the order of arrival. For that, the latest
// occurrence of each status is sufficient: a status other than `pending` may follow any other status, so only
// the last one of these counts, and a `pending` counts only if it occurred after it. So every order,
// repetition and replay leads to the same payment.

/** Ordered for equal times: a later element counts as the later occurrence. */
export const statuses = ["pending", "failed", "succeeded", "refunded"] as const;
export type Status = (typeof statuses)[number];

/** The statuses that may follow each status. A refunded or failed payment does not become pending. */
export const transitions: Readonly<Record<Status, ReadonlySet<Status>>> = {
  pending: new Set(["failed", "succeeded", "refunded"]),
  failed: new Set(["succeeded", "refunded"]),
  succeeded: new Set(["pending", "failed", "refunded"]),
  refunded: new Set(["failed", "succeeded"]),
};

/** The facts of a verified notification of one of the four types. */
export interface NotificationFacts {
  notificationId: string;
  status: Status;
  /** Unix time in milliseconds. */
  occurredMs: number;
  /** Digits as the provider writes them, with at most one decimal point. */
  amount: string;
  currency: string;
}

/** The state of a payment. */
export interface PaymentState {
  status: Status;
  /** When the payment came to its status; Unix time in milliseconds. */
  occurredMs: number;
  amount: string;
  currency: string;
  /** When each status last occurred. */
  latest: Readonly<Partial<Record<Status, number>>>;
  /**
   * The notification that amount and currency come from: the last one that occurred; for equal times the one
   * with the greater id.
   */
  newest: { occurredMs: number; notificationId: string };
}

/** The payment after one more notification. Returns the same object when nothing changes. */
export function afterNotification(
  before: PaymentState | undefined,
  notified: NotificationFacts,
): PaymentState {
  const known = before?.latest[notified.status];
  const latest =
    known !== undefined && known >= notified.occurredMs
      ? before?.latest
      : { ...before?.latest, [notified.status]: notified.occurredMs };
  const isNewest = before === undefined || isAfter(notified, before.newest);
  if (before !== undefined && latest === before.latest && !isNewest) return before;
  const status = statusOf(latest ?? {});
  return {
    status,
    occurredMs: latest?.[status] ?? notified.occurredMs,
    amount: isNewest ? notified.amount : before.amount,
    currency: isNewest ? notified.currency : before.currency,
    latest: latest ?? {},
    newest: isNewest
      ? { occurredMs: notified.occurredMs, notificationId: notified.notificationId }
      : before.newest,
  };
}

function statusOf(latest: PaymentState["latest"]): Status {
  const occurred = statuses.filter((status) => latest[status] !== undefined);
  // Sorting is stable, so equal times keep the order of `statuses`.
  const [first = "pending", ...rest] = occurred.sort((a, b) => (latest[a] ?? 0) - (latest[b] ?? 0));
  return rest.reduce((status, next) => (transitions[status].has(next) ? next : status), first);
}

function isAfter(notified: NotificationFacts, newest: PaymentState["newest"]): boolean {
  if (notified.occurredMs !== newest.occurredMs) return notified.occurredMs > newest.occurredMs;
  return notified.notificationId > newest.notificationId;
}

/** Whether a notification changes anything visible; otherwise it is stored as stale. */
export function isVisibleChange(before: PaymentState | undefined, after: PaymentState): boolean {
  return (
    before === undefined ||
    before.status !== after.status ||
    before.occurredMs !== after.occurredMs ||
    before.amount !== after.amount ||
    before.currency !== after.currency
  );
}

const eventOf = {
  pending: undefined,
  failed: "payment.failed",
  succeeded: "payment.succeeded",
  refunded: "payment.refunded",
} as const;

/**
 * The event to publish. Only a new status is published, not a later time or another amount of the same
 * status.
 */
export function eventOfChange(before: PaymentState | undefined, after: PaymentState) {
  return before?.status === after.status ? undefined : eventOf[after.status];
}
