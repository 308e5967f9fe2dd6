// Linked chats as a channel of the delivery worker. A chat that blocked the bot or was deleted is unlinked.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Channel, Delivery, AttemptOutcome, TargetRef } from "../../mixins/deliveries/channel.ts";
import type { Role } from "../shared/roles.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Bot } from "./bot.ts";
import { endLinkOfChat } from "./end-link.ts";
import { isOfPatient, maySee } from "./kinds.rules.ts";
import { messageOf } from "./message.rules.ts";
import { type Refusal, sendText } from "./send-text.ts";
import type { RowOf } from "../shared/database/row.ts";

/** A linked chat and its user's role. */
export interface Chat {
  chatId: number;
  role: Role;
}

/** @param stopping aborts messages that still wait for their turn; they return to the queue */
export function messengerChannel(runtime: Runtime, bot: Bot, stopping: AbortSignal): Channel<Chat> {
  return {
    name: "messenger",
    settingsOf: (targets) => openChats(runtime, bot, targets),
    send(delivery, { chatId, role }, signal) {
      const { kind, payload, occurredAt } = delivery;
      const text = messageOf(kind, payload, occurredAt);
      const isClear = maySee(role, kind) && !isOfPatient(kind);
      const recheck = isClear ? undefined : () => refusalOf(runtime, delivery);
      return sendText(bot, chatId, text, AbortSignal.any([signal, stopping]), recheck);
    },
    recorded: (outcomes) => unlinkGone(runtime, outcomes),
  };
}

/**
 * Checks the user's rights directly before sending. The role may have been lowered after the fan-out or
 * raised after it was last read, and the patient may have been moved to another department. So the decision
 * never depends on data of an earlier second. Never rejects.
 */
async function refusalOf(
  { database }: Runtime,
  { tenantId, targetId, kind, payload }: Delivery,
): Promise<Refusal | undefined> {
  const statement = {
    name: "messenger.rights_of_chat",
    text: `select u.role, may_be_told($1, $2, 'messenger', $3, $4::json) as sees
      from messenger_links l join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
      where l.tenant_id = $1 and l.id = $2`,
    values: [tenantId, targetId, kind, payload],
  };
  try {
    const user = await database.readOne<RowOf<"users", "role", { sees: boolean }>>(platform, statement);
    if (user === undefined || !maySee(user.role, kind)) return { outcome: "gone", error: "not_allowed" };
    return user.sees ? undefined : { outcome: "withheld", error: "not_visible" };
  } catch {
    return { outcome: "failed", error: "not_allowed" };
  }
}

/**
 * The chats of the targets. A target is absent when it is unlinked, subscribed to nothing, or its user or
 * tenant is inactive. "later": the messenger has requested a pause.
 */
async function openChats(
  { database }: Runtime,
  bot: Bot,
  targets: readonly TargetRef[],
): Promise<Map<number, Chat | "later">> {
  const rows = await database.read<RowOf<"messenger_links", "id" | "chat_id"> & RowOf<"users", "role">>(
    platform,
    {
      name: "messenger.chats",
      text: `select l.id, l.chat_id, u.role from delivery_targets t
      join messenger_links l on l.tenant_id = t.tenant_id and l.id = t.id and l.ended_at is null
      join users u on u.tenant_id = l.tenant_id and u.id = l.user_id and u.is_active and u.deleted_at is null
      join tenants n on n.id = t.tenant_id and n.is_active and n.deleted_at is null
      where t.id = any($1::integer[]) and t.is_active and t.deleted_at is null`,
      values: [targets.map(({ targetId }) => targetId)],
    },
  );
  const { isPaused } = bot.pacer;
  return new Map(
    rows.map(({ id, chat_id: chatId, role }) => [id, isPaused ? "later" : { chatId: Number(chatId), role }]),
  );
}

async function unlinkGone({ database }: Runtime, outcomes: readonly AttemptOutcome<Chat>[]): Promise<void> {
  const gone = outcomes.filter(({ attempt }) => attempt.error === "chat_gone");
  for (const chatId of new Set(gone.map(({ settings }) => settings.chatId)))
    await database.change(platform, Caller.system("messenger"), (change) =>
      endLinkOfChat(change, chatId, "chat_gone"),
    );
}
