// Actions of the messenger service: linking the caller's account with a chat, and its subscriptions.
import { anyone, onlyServices, signedIn } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { allEventKinds } from "../shared/event-kinds.ts";
import { inHeader, nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { flag, integer, listOf, oneOf, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { rawContent } from "../shared/raw-body.ts";

const subscribedMax = 50;
const updateBytesMax = 262_144;

const state = oneOf(["ok", "off", "down"], {
  description: "off: no bot is configured; down: the messenger's servers are not reached",
});

const statusShape = object(
  {
    linked: flag(),
    provider: oneOf(["telegram"]),
    display_name: nullable(text({ description: "As the messenger names the chat" })),
    linked_at: nullable(timestamp()),
    events: listOf(text(), { description: "The kinds that were asked for" }),
    messenger: state,
    bot: nullable(text({ description: "The bot's name, to write /start to" })),
  },
  { name: "MessengerStatus" },
);
export type MessengerStatus = ValueOf<typeof statusShape>;

export const messengerContract = {
  "messenger.link": {
    summary: "Links the caller with the chat that shows this code (write /start to the bot).",
    audits: "messenger.link",
    access: signedIn,
    refuses: { 400: ["invalid_code"], 409: ["already_linked", "messenger_off"] },
    example: { code: "BCDF-GHJK" },
    body: { code: text({ max: 100, description: "XXXX-XXXX; case and dash do not matter" }) },
    result: statusShape,
  },
  "messenger.unlink": {
    summary: "Unlinks the caller's chat; also fine when there is none.",
    audits: "messenger.unlink",
    access: signedIn,
    weight: weights.setting,
    result: statusShape,
  },
  "messenger.status": {
    summary: "Whether the caller has a linked chat, and what it is told.",
    audits: "messenger.status",
    access: signedIn,
    repeatable: true,
    result: statusShape,
  },
  "messenger.subscribe": {
    summary:
      "Replaces the kinds of events the caller's chat is told of; `*` stands for all that the caller's role may see.",
    audits: "messenger.subscribe",
    access: signedIn,
    refuses: { 403: ["event_not_allowed"], 409: ["not_linked", "messenger_off"] },
    weight: weights.setting,
    example: { events: ["user.created"] },
    body: { events: listOf(oneOf(allEventKinds, { name: "EventKindOrAll" }), { max: subscribedMax }) },
    result: statusShape,
  },
  "messenger.take_update": {
    summary: "Takes an update of the messenger; it knows the secret it was given.",
    audits: "messenger.take_update",
    access: anyone,
    refuses: { 400: ["malformed_update"], 403: ["forbidden"], 404: ["not_found"] },
    header: {
      secret_token: inHeader(
        optional(nullable(text({ description: "The secret that the messenger was given." }))),
        "X-Telegram-Bot-Api-Secret-Token",
      ),
    },
    example: { update_id: 1 },
    body: rawContent(updateBytesMax),
    rawBody: { bytesMax: updateBytesMax, fields: { update_id: integer() } },
    result: object({ received: flag() }, { name: "UpdateReceipt" }),
  },
  "messenger.check": {
    summary: "How the conversation with the messenger goes.",
    audits: "messenger.check",
    access: onlyServices("health"),
    repeatable: true,
    result: object({ state }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof messengerContract> {}
}
