// The bot's replies in a chat. They are sent by jobs, so an update is stored at once and its reply survives a
// crash. A code is created when it is sent, so its clear text is never stored.
import { randomInt } from "node:crypto";
import { Caller } from "../shared/caller.ts";
import { databaseMs } from "../shared/database/clock.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { toIso } from "../shared/wire.ts";
import { type Bot, botOf } from "./bot.ts";
import { hashCode, newCode } from "./code.rules.ts";
import { endLinkOfChat } from "./end-link.ts";
import type { Reply } from "./enqueue-reply.ts";
import { sendText } from "./send-text.ts";
import type { RowOf } from "../shared/database/row.ts";

const expiresAfterMs = 600_000;

interface Payload {
  chat_id: number;
  reply: Reply;
  asked_at: number;
}

/** The job `messenger.reply`. Throws to be retried; replies older than ten minutes are dropped. */
export async function sendReply(this: { runtime: Runtime }, payload: unknown): Promise<void> {
  // The payload is written by enqueueReply.
  const { chat_id: chatId, reply, asked_at: askedAt } = payload as Payload;
  const { runtime } = this;
  const bot = botOf(runtime);
  if (bot === undefined || (await databaseMs(runtime.database)) - askedAt > expiresAfterMs) return;
  const text = reply === "code" ? await drawCode(runtime, bot, chatId) : await textOf(runtime, chatId, reply);
  if (text === undefined) return;
  const { outcome } = await sendText(bot, chatId, text, new AbortController().signal);
  if (outcome === "gone") {
    const caller = Caller.system("messenger");
    await runtime.database.change(platform, caller, (change) => endLinkOfChat(change, chatId, "chat_gone"));
  } else if (outcome !== "delivered") throw new Error("an answer in a chat waits");
}

/** Creates a code for the chat. @returns undefined when the chat has cancelled meanwhile */
async function drawCode(runtime: Runtime, { codeKey }: Bot, chatId: number): Promise<string | undefined> {
  const code = newCode((below) => randomInt(below));
  const drawn = await runtime.database.writeOne(platform, Caller.system("messenger"), {
    name: "messenger.draw_code",
    text: `update messenger_codes set code_hash = $2, expires_at = now() + interval '10 minutes'
      where chat_id = $1 returning chat_id`,
    values: [chatId, hashCode(codeKey, code.replace("-", ""))],
  });
  if (drawn === undefined) return undefined;
  return `Your code: ${code}\n\nSign in to the service and enter it there within 10 minutes. It works once. A new /start makes it void.`;
}

const texts: Record<Exclude<Reply, "code" | "status">, string> = {
  already_linked: "This chat is already linked. /status tells more, /stop unlinks it.",
  linked: "This chat is now linked with your account. /stop unlinks it.",
  unlinked: "This chat is no longer linked: you are told nothing more here. /start links it anew.",
  not_linked: "This chat is not linked. /start gives you a code to link it with.",
  help: "/start gives you a code to link this chat with your account, /status tells whether it is linked, /stop unlinks it.",
  not_private: "Write to me in a private chat: here others would see what I tell you.",
};

async function textOf(runtime: Runtime, chatId: number, reply: Exclude<Reply, "code">): Promise<string> {
  if (reply !== "status") return texts[reply];
  const link = await runtime.database.readOne<RowOf<"messenger_links", "linked_at", { kinds: number }>>(
    platform,
    {
      name: "messenger.link_of_chat",
      text: `select linked_at, cardinality(events) as kinds from messenger_links
      where chat_id = $1 and ended_at is null`,
      values: [chatId],
    },
  );
  if (link === undefined) return texts.not_linked;
  const since = toIso(link.linked_at).slice(0, 16).replace("T", " ");
  return `Linked since ${since} UTC. Kinds of events subscribed to: ${link.kinds}.`;
}
