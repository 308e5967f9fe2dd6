// Stores an update and applies it in one transaction, so that it has one effect, however often it arrives,
// from whichever process and by polling or webhook.
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { exposedFacts } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { endLinkOfChat } from "./end-link.ts";
import { enqueueReply } from "./enqueue-reply.ts";
import type { Update } from "./update.rules.ts";

type UpdateAction = NonNullable<Update["action"]>;

const limitOf = perRuntime(({ database }) => new RateLimit(database, "messenger_chat", 10, 60));

/** @param bot the key of the bot that received the update */
export async function applyUpdate(runtime: Runtime, bot: string, update: Update): Promise<void> {
  const { action } = update;
  // An update without effect need not be stored, however many arrive.
  if (action === undefined) return;
  const isLimited = await exceedsRateLimit(runtime, action.chatId);
  if (isLimited && !isUnlinking(action)) return;
  await runtime.database.change(platform, Caller.system("messenger"), async (change) => {
    const [fresh] = await change.execute(
      "insert into messenger_updates (bot, update_id) values ($1, $2) on conflict do nothing returning update_id",
      [bot, update.id],
    );
    if (fresh === undefined) return;
    if (isLimited) await unlinkChat(change, action);
    else await execute(change, action);
  });
}

async function exceedsRateLimit(runtime: Runtime, chatId: number): Promise<boolean> {
  try {
    await limitOf(runtime).take(String(chatId));
    return false;
  } catch (refusal) {
    if (exposedFacts(refusal) === undefined) throw refusal;
    return true;
  }
}

/** A chat that writes too much gets no more replies, but can still unlink. */
function isUnlinking(action: UpdateAction): boolean {
  return action.what === "blocked" || (action.what === "command" && action.command === "stop");
}

async function execute(change: Change, action: UpdateAction): Promise<void> {
  const { chatId } = action;
  if (action.what === "not_private") await enqueueReply(change, chatId, "not_private");
  else if (action.what === "blocked") await unlinkChat(change, action);
  else if (action.command === "stop")
    await enqueueReply(change, chatId, (await unlinkChat(change, action)) ? "unlinked" : "not_linked");
  else if (action.command === "start") await enqueueCode(change, chatId, action.displayName);
  else await enqueueReply(change, chatId, action.command);
}

async function unlinkChat(change: Change, { what, chatId }: UpdateAction): Promise<boolean> {
  await change.execute("delete from messenger_codes where chat_id = $1", [chatId]);
  return endLinkOfChat(change, chatId, what === "blocked" ? "chat_gone" : "chat_stopped");
}

/** The previous code becomes invalid now, not only when the new one is created. */
async function enqueueCode(change: Change, chatId: number, displayName: string): Promise<void> {
  const [link] = await change.execute(
    "select id from messenger_links where chat_id = $1 and ended_at is null",
    [chatId],
  );
  if (link !== undefined) return enqueueReply(change, chatId, "already_linked");
  await change.execute(
    `insert into messenger_codes (chat_id, display_name, expires_at) values ($1, $2, now() + interval '10 minutes')
     on conflict (chat_id) do update set code_hash = null, display_name = excluded.display_name,
       expires_at = excluded.expires_at`,
    [chatId, displayName],
  );
  await enqueueReply(change, chatId, "code");
}
