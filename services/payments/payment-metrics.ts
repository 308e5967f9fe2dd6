// Metrics of notifications and of changes of payments, counted after the commit.
import { perRuntime } from "../shared/per-runtime.ts";
import type { BatchWrites } from "./inbox-statements.ts";
import { statuses } from "./payment.rules.ts";

const notificationStates = [
  "applied",
  "stale",
  "ignored",
  "unverified",
  "unknown_tenant",
  "inactive_tenant",
  "duplicate",
  "conflict",
];

/** Returns the functions that count; they do nothing when metrics are switched off. */
export const countPayments = perRuntime(({ metrics }) => {
  const notifications = metrics?.counter(
    "records_payment_notifications_total",
    "Notifications of payment providers by what became of them",
    "state",
    notificationStates,
  );
  const payments = metrics?.counter(
    "records_payments_total",
    "Changes of payments by the state that the payment had after it",
    "status",
    statuses,
  );
  return {
    notification: (state: string) => notifications?.(state),
    written({ lines, payments: changed }: BatchWrites): void {
      for (const { state } of lines) notifications?.(state);
      for (const { status } of changed) payments?.(status);
    },
  };
});
