// Actions of the webhooks service: administration of the tenant's webhooks.
import { allow } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { allEventKinds } from "../shared/event-kinds.ts";
import { custom, nullable, optional } from "../shared/params/modifiers.ts";
import { json, object, timestamp } from "../shared/params/results.ts";
import { flag, integer, listOf, oneOf, pathId, secretText, text, url } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { secretFault } from "./webhooks.rules.ts";

export const disableReasons = ["gone", "failing"] as const;

const fields = {
  id: integer(),
  tenant_id: integer(),
  url: text(),
  events: listOf(text()),
  is_active: flag(),
  created_at: timestamp(),
  updated_at: timestamp(),
  failing_since: nullable(timestamp({ description: "Since when nothing but failures has come" })),
  disabled_at: nullable(timestamp()),
  disabled_reason: nullable(oneOf(disableReasons)),
};

const webhookShape = object(fields, { name: "Webhook" });
export type Webhook = ValueOf<typeof webhookShape>;

const forLibraries = text({ description: "What a library of Standard Webhooks is given as the secret." });

const registeredShape = object(
  {
    ...fields,
    secret: optional(text({ description: "Only when none was sent: it is shown this once" })),
    for_libraries: forLibraries,
  },
  { name: "RegisteredWebhook" },
);
export type RegisteredWebhook = ValueOf<typeof registeredShape>;

const changedShape = object(
  {
    ...fields,
    for_libraries: optional(
      text({
        description: "What a library of Standard Webhooks is given as the secret, where one was sent.",
      }),
    ),
  },
  { name: "ChangedWebhook" },
);
export type ChangedWebhook = ValueOf<typeof changedShape>;

const eventTypeShape = object(
  {
    type: oneOf(allEventKinds, { name: "EventKindOrAll" }),
    description: text(),
    schema: json<object>({ description: "JSON Schema of the message's `data`." }),
  },
  { name: "EventType" },
);
export type EventType = ValueOf<typeof eventTypeShape>;

const address = url({ description: "https, on any public address" });
const events = listOf(oneOf(allEventKinds, { name: "EventKindOrAll" }), { min: 1, max: 100 });
const secret = optional(
  nullable(
    custom(
      secretText({
        min: 16,
        max: 256,
        description:
          "`whsec_` and base64 of 24 to 64 bytes: those bytes sign, and a library is given the secret as it is. Or 16 to 256 plain characters: they sign as they are, and a library, which reads base64, is given `whsec_` and the base64 of them. Never shown again.",
      }),
      secretFault,
    ),
  ),
);

const administrators = allow("superadmin", "admin");
const path = { webhook_id: pathId({ description: "The webhook's id.", example: 1 }) };

export const webhooksContract = {
  "webhooks.list": {
    summary: "The tenant's webhooks, oldest first.",
    audits: "webhook.list",
    access: administrators,
    repeatable: true,
    result: listOf(webhookShape),
  },
  "webhooks.register": {
    summary:
      "Registers an address that is told of events; deliveries are signed by the Standard Webhooks scheme.",
    audits: "webhook.register",
    access: administrators,
    refuses: { 409: ["too_many_webhooks"], 503: ["keys_unreadable"] },
    weight: weights.outbound,
    example: { url: "https://receiver.example/records", events: ["user.created", "payment.succeeded"] },
    body: { url: address, events, secret },
    result: registeredShape,
  },
  "webhooks.update": {
    summary:
      "Changes a webhook. A new secret signs at once, the old one beside it for 24 hours; activating forgets past failures.",
    audits: "webhook.update",
    access: administrators,
    refuses: { 503: ["sealed_field_unreadable", "keys_unreadable"] },
    weight: weights.outbound,
    path,
    example: { is_active: true },
    body: { url: optional(address), events: optional(events), is_active: optional(flag()), secret },
    result: changedShape,
  },
  "webhooks.remove": {
    summary: "Deletes a webhook, its secret and what was on its way to it.",
    audits: "webhook.delete",
    access: administrators,
    weight: weights.outbound,
    path,
  },
  "webhooks.event_types": {
    summary: "The kinds of events a webhook can ask for, and what each says; `*` stands for all of them.",
    audits: "webhook.event_types",
    access: administrators,
    repeatable: true,
    result: listOf(eventTypeShape),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof webhooksContract> {}
}
