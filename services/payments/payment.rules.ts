// What notifications make of a payment. Its status is what the table of transitions makes of all its notifications in the
// order in which they OCCURRED, whatever the order in which they arrived. Of each status the latest occurrence is enough
// for that: a status that decides (all but `pending`) may follow any other, so only the last of these counts, and a
// `pending` counts only behind it. So any order, any repetition and any replay ends in the same payment.

/** In the order of moments that are equal: the later one has happened after. */
export const statuses = ["pending", "failed", "succeeded", "refunded"] as const;
export type Status = (typeof statuses)[number];

/** What may follow each status. Refunded and failed are not left for pending. */
export const transitions: Readonly<Record<Status, ReadonlySet<Status>>> = {
  pending: new Set(["failed", "succeeded", "refunded"]),
  failed: new Set(["succeeded", "refunded"]),
  succeeded: new Set(["pending", "failed", "refunded"]),
  refunded: new Set(["failed", "succeeded"]),
};

/** What a verified notification of one of the four types says. */
export interface Told {
  notificationId: string;
  status: Status;
  /** Unix time in milliseconds. */
  occurredMs: number;
  /** Digits as the provider writes them, at most one point. */
  amount: string;
  currency: string;
}

export interface PaymentState {
  status: Status;
  /** When it came to this status; Unix time in milliseconds. */
  occurredMs: number;
  amount: string;
  currency: string;
  /** When each status last occurred. */
  latest: Readonly<Partial<Record<Status, number>>>;
  /** Of which amount and currency are: the notification that occurred last; of equal ones that with the greater id. */
  newest: { occurredMs: number; notificationId: string };
}

/** The payment after one more notification; the very same object when that changes nothing at all. */
export function afterNotification(before: PaymentState | undefined, told: Told): PaymentState {
  const known = before?.latest[told.status];
  const latest =
    known !== undefined && known >= told.occurredMs
      ? before?.latest
      : { ...before?.latest, [told.status]: told.occurredMs };
  const isNewest = before === undefined || isAfter(told, before.newest);
  if (before !== undefined && latest === before.latest && !isNewest) return before;
  const status = statusOf(latest ?? {});
  return {
    status,
    occurredMs: latest?.[status] ?? told.occurredMs,
    amount: isNewest ? told.amount : before.amount,
    currency: isNewest ? told.currency : before.currency,
    latest: latest ?? {},
    newest: isNewest ? { occurredMs: told.occurredMs, notificationId: told.notificationId } : before.newest,
  };
}

function statusOf(latest: PaymentState["latest"]): Status {
  const occurred = statuses.filter((status) => latest[status] !== undefined);
  // Sorting is stable, so equal moments stay in the order of `statuses`.
  const [first = "pending", ...rest] = occurred.sort((a, b) => (latest[a] ?? 0) - (latest[b] ?? 0));
  return rest.reduce((status, next) => (transitions[status].has(next) ? next : status), first);
}

function isAfter(told: Told, newest: PaymentState["newest"]): boolean {
  if (told.occurredMs !== newest.occurredMs) return told.occurredMs > newest.occurredMs;
  return told.notificationId > newest.notificationId;
}

/** Whether a notification shows: else it is kept as stale. */
export function isSeen(before: PaymentState | undefined, after: PaymentState): boolean {
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

/** The event to tell of: of a new status alone, not of a later moment or another amount in the same one. */
export function eventOfChange(before: PaymentState | undefined, after: PaymentState) {
  return before?.status === after.status ? undefined : eventOf[after.status];
}
