// What providers have told, and which states payments took by it, for who watches. Counted when it is committed.
import { perRuntime } from "../shared/per-runtime.ts";
import type { Written } from "./inbox-statements.ts";
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
    written({ lines, payments: changed }: Written): void {
      for (const { state } of lines) notifications?.(state);
      for (const { status } of changed) payments?.(status);
    },
  };
});
