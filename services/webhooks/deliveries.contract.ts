// Actions on the log of deliveries: list them, resend one, recover all missed ones.
import { allow } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { eventKinds } from "../shared/event-kinds.ts";
import { namedPayload } from "../shared/event-payloads.ts";
import { emptyIsNull, nullable, optional } from "../shared/params/modifiers.ts";
import { anyOf, object, timestamp } from "../shared/params/results.ts";
import { dateOrTime, flag, id, integer, listOf, oneOf, pathId, text } from "../shared/params/rules.ts";
import type { Rule, ValueOf } from "../shared/params/types.ts";
import { pageOf, paging, sorting } from "../shared/wire.ts";

const deliveryStates = ["pending", "succeeded", "failed", "canceled"] as const;
const deliverySorts = ["event_id"] as const;

const attemptFields = {
  status_code: nullable(integer()),
  duration_ms: integer(),
  error: nullable(text({ description: "Null after a success" })),
  response: nullable(text({ description: "The beginning of the answer, at most 1 kB" })),
};

const eventData: Rule<object> = {
  ...anyOf<object>("EventData", eventKinds.map(namedPayload)),
  description: "What the event says: the payload of its `kind`, as the webhook of that name describes it",
};

const deliveryShape = object(
  {
    id: text({ description: "The webhook-id that the receiver sees, the same on every try" }),
    webhook_id: integer(),
    event_id: integer(),
    seq: integer(),
    kind: oneOf(eventKinds, { name: "EventKind" }),
    data: eventData,
    state: oneOf(deliveryStates),
    cause: oneOf(["scheduled", "manual", "recover"]),
    attempts: integer(),
    created_at: timestamp(),
    next_attempt_at: nullable(timestamp()),
    finished_at: nullable(timestamp()),
    last_attempt: nullable(
      object({ attempted_at: timestamp(), ...attemptFields }, { name: "DeliveryAttempt" }),
    ),
  },
  { name: "Delivery" },
);
export type WireDelivery = ValueOf<typeof deliveryShape>;

const testShape = object({ delivered: flag(), ...attemptFields }, { name: "WebhookTest" });
export type TestResult = ValueOf<typeof testShape>;

const administrators = allow("superadmin", "admin");
const path = { webhook_id: pathId({ description: "The webhook's id.", example: 1 }) };

const waitingShape = object({
  target_id: integer(),
  tenant_id: integer(),
  channel: text(),
  active: flag(),
  pending: integer(),
  tries: integer({ description: "Of the delivery that was tried most often" }),
  due_at: timestamp(),
  sending: flag(),
});
export type WaitingTarget = ValueOf<typeof waitingShape>;

export const deliveriesContract = {
  "webhooks.test": {
    summary: "Sends one webhook.test now, whether the webhook is active or not, and tells what came of it.",
    audits: "webhook.test",
    access: administrators,
    refuses: { 503: ["sealed_field_unreadable", "keys_unreadable"] },
    weight: weights.outbound,
    path,
    result: testShape,
  },
  "webhooks.deliveries": {
    summary: "The log of a webhook's deliveries of the last 90 days, page by page.",
    audits: "webhook.deliveries",
    access: administrators,
    repeatable: true,
    weight: weights.list,
    path,
    query: {
      ...paging,
      state: optional(emptyIsNull(oneOf(deliveryStates, { description: "Only deliveries of this state." }))),
      kind: optional(
        emptyIsNull(
          oneOf(eventKinds, { name: "EventKind", description: "Only deliveries of events of this kind." }),
        ),
      ),
      ...sorting(deliverySorts, "event_id", "desc"),
    },
    result: pageOf("DeliveryPage", deliveryShape),
  },
  "webhooks.resend": {
    summary: "Sends a delivery again, under the same id, whatever became of it.",
    audits: "webhook.resend",
    access: administrators,
    refuses: { 409: ["webhook_inactive"] },
    weight: weights.outbound,
    path: { ...path, delivery_id: text({ max: 200, description: "The `webhook-id` of the delivery." }) },
    result: deliveryShape,
  },
  "webhooks.recover": {
    summary:
      "Sends again all that failed or was canceled since then, and what happened while the webhook was off.",
    audits: "webhook.recover",
    access: administrators,
    refuses: { 409: ["webhook_inactive"] },
    weight: weights.heavy,
    path,
    example: { since: "2026-01-31T12:00:00Z" },
    body: { since: dateOrTime() },
    result: object({ webhook_id: integer(), since: timestamp() }, { name: "Recovery" }),
  },
  "webhooks.waiting_deliveries": {
    summary: "Webhooks and chats to which something is on its way (operators, from the REPL).",
    audits: "webhook.deliveries",
    access: allow("superadmin"),
    query: { tenant_id: optional(id()) },
    result: object({ items: listOf(waitingShape) }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof deliveriesContract> {}
}
