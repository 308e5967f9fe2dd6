// Actions of the payments service: notifications of the providers, and lists for administrators.
import { allow, anyone } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { emptyIsNull, inHeader, nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { flag, integer, listOf, oneOf, pathId, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { rawContent } from "../shared/raw-body.ts";
import { ofTenant, pageOf, paging, sorting } from "../shared/wire.ts";
import { statuses } from "./payment.rules.ts";

const providers = ["card", "wallet"] as const;
export type ProviderName = (typeof providers)[number];

const paymentSorts = ["id", "occurred_at"] as const;

const paymentFields = {
  id: integer(),
  tenant_id: integer(),
  provider: oneOf(providers),
  payment_id: text({ description: "The provider's own name of the payment." }),
  status: oneOf(statuses),
  amount: text({
    description: "As the provider writes it: in the smallest unit by card, decimal by wallet.",
  }),
  currency: text({ description: "Three letters, in capitals." }),
  occurred_at: timestamp({ description: "When the payment came to its status." }),
  created_at: timestamp(),
  updated_at: timestamp(),
};

const paymentShape = object(paymentFields, { name: "Payment" });
export type Payment = ValueOf<typeof paymentShape>;

const notificationStates = [
  "applied",
  "stale",
  "ignored",
  "unverified",
  "unknown_tenant",
  "inactive_tenant",
] as const;

const notificationShape = object(
  {
    provider: oneOf(providers),
    notification_id: text({ description: "The provider's own name of the notification." }),
    type: text(),
    state: oneOf(notificationStates, {
      description:
        "`applied` changed its payment, `stale` said nothing new, `ignored` is of another type, `unverified` came while no secret was set; the others name no active tenant.",
    }),
    tenant_id: nullable(integer()),
    payment_id: nullable(text()),
    occurred_at: nullable(timestamp()),
    received_at: timestamp(),
    body_sha256: text({ description: "Hex, of the bytes that came: what was in them is not kept." }),
  },
  { name: "PaymentNotification" },
);
export type PaymentNotification = ValueOf<typeof notificationShape>;

const historyShape = object(
  {
    ...paymentFields,
    notifications: listOf(notificationShape, {
      description: "Of the last 90 days, in the order in which they occurred; at most 200, the newest.",
    }),
  },
  { name: "PaymentHistory" },
);
export type PaymentHistory = ValueOf<typeof historyShape>;

const received = object({ received: flag(), duplicate: flag() }, { name: "NotificationReceipt" });

const notificationBytesMax = 262_144;
const types =
  "`payment.pending`, `payment.succeeded`, `payment.failed` or `payment.refunded`; others are kept and ignored";
const metadata = object({ tenant: text({ description: "The tenant's subdomain." }) });

export const paymentsContract = {
  "payments.take_card": {
    summary:
      "Takes a notification of the card provider, signed over its bytes in `Provider-Signature: t=<unix>,v1=<hex>`.",
    audits: "payment.take",
    access: anyone,
    example: {
      id: "evt_1001",
      type: "payment.succeeded",
      created: 1_790_000_000,
      data: { object: { id: "pay_1", amount: 1999, currency: "EUR", metadata: { tenant: "demo" } } },
    },
    refuses: { 400: ["invalid_signature"], 409: ["notification_differs"], 422: [] },
    header: {
      provider_signature: inHeader(
        optional(nullable(text({ description: "`t=<unix>,v1=<hex>`; needed once a secret is set." }))),
        "Provider-Signature",
      ),
    },
    body: rawContent(notificationBytesMax),
    rawBody: {
      bytesMax: notificationBytesMax,
      fields: {
        id: text({ min: 1, max: 255 }),
        type: text({ min: 1, max: 100, description: types }),
        created: integer({ min: 0, description: "Unix time in seconds." }),
        data: object({
          object: object({
            id: text({ min: 1, max: 255 }),
            amount: integer({ min: 0, description: "In the currency's smallest unit." }),
            currency: text({ pattern: /^[A-Za-z]{3}$/ }),
            metadata,
          }),
        }),
      },
    },
    result: received,
  },
  "payments.take_wallet": {
    summary: "Takes a notification of the wallet provider, signed in its own field `signature`.",
    audits: "payment.take",
    access: anyone,
    example: {
      id: "n-1001",
      type: "payment.succeeded",
      occurred_at: "2026-09-21T12:00:00Z",
      data: { payment_id: "w-1", amount: "19.99", currency: "EUR", metadata: { tenant: "demo" } },
    },
    refuses: { 400: ["invalid_signature", "malformed_notification"], 409: ["notification_differs"] },
    body: rawContent(notificationBytesMax),
    rawBody: {
      bytesMax: notificationBytesMax,
      fields: {
        id: text({ min: 1, max: 255 }),
        type: text({ min: 1, max: 100, description: types }),
        occurred_at: timestamp(),
        data: object({
          payment_id: text({ min: 1, max: 255 }),
          amount: text({ description: "Decimal; a number is read too." }),
          currency: text({ pattern: /^[A-Za-z]{3}$/ }),
          metadata,
        }),
        signature: optional(
          text({ description: "Hex HMAC-SHA256 of the RFC 8785 JSON of all other fields." }),
        ),
      },
    },
    result: received,
  },
  "payments.list": {
    summary: "Lists payments, the latest first.",
    audits: "payment.list",
    access: allow("superadmin", "admin"),
    repeatable: true,
    weight: weights.list,
    query: {
      ...ofTenant,
      ...paging,
      provider: optional(emptyIsNull(oneOf(providers, { description: "Only of this provider." }))),
      status: optional(emptyIsNull(oneOf(statuses, { description: "Only of this status." }))),
      ...sorting(paymentSorts, "occurred_at", "desc"),
    },
    result: pageOf("PaymentPage", paymentShape),
  },
  "payments.notifications": {
    summary: "Lists the notifications as they came, the latest first: also those that act on nothing.",
    audits: "payment.notifications",
    access: allow("superadmin"),
    repeatable: true,
    weight: weights.list,
    query: {
      ...paging,
      provider: optional(emptyIsNull(oneOf(providers, { description: "Only of this provider." }))),
      state: optional(emptyIsNull(oneOf(notificationStates, { description: "Only of this state." }))),
    },
    result: pageOf("PaymentNotificationPage", notificationShape),
  },
  "payments.get": {
    summary: "One payment, and the notifications that made it what it is.",
    audits: "payment.get",
    access: allow("superadmin"),
    repeatable: true,
    weight: weights.list,
    path: { payment_id: pathId({ description: "The payment's `id` in the list.", example: 1 }) },
    result: historyShape,
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof paymentsContract> {}
}
