// Taking in one update: that it was, and what it does, are one transaction, so that it has one effect however often it
// comes, from whichever process and way.
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

type Act = NonNullable<Update["act"]>;

const limitOf = perRuntime(({ database }) => new RateLimit(database, "messenger_chat", 10, 60));

/** @param bot the key of the bot whose update it is */
export async function takeUpdate(runtime: Runtime, bot: string, update: Update): Promise<void> {
  const { act } = update;
  // What has no effect has none the second time either: it need not be remembered, however much of it comes.
  if (act === undefined) return;
  const isLoud = await isTooLoud(runtime, act.chatId);
  if (isLoud && !isLeaving(act)) return;
  await runtime.database.change(platform, Caller.system("messenger"), async (change) => {
    const [fresh] = await change.execute(
      "insert into messenger_updates (bot, update_id) values ($1, $2) on conflict do nothing returning update_id",
      [bot, update.id],
    );
    if (fresh === undefined) return;
    if (isLoud) await leave(change, act);
    else await obey(change, act);
  });
}

async function isTooLoud(runtime: Runtime, chatId: number): Promise<boolean> {
  try {
    await limitOf(runtime).take(String(chatId));
    return false;
  } catch (refusal) {
    if (exposedFacts(refusal) === undefined) throw refusal;
    return true;
  }
}

/** Who writes too much is not answered any more, but can still go. */
function isLeaving(act: Act): boolean {
  return act.what === "blocked" || (act.what === "command" && act.command === "stop");
}

async function obey(change: Change, act: Act): Promise<void> {
  const { chatId } = act;
  if (act.what === "not_private") await enqueueReply(change, chatId, "not_private");
  else if (act.what === "blocked") await leave(change, act);
  else if (act.command === "stop")
    await enqueueReply(change, chatId, (await leave(change, act)) ? "unlinked" : "not_linked");
  else if (act.command === "start") await giveCode(change, chatId, act.displayName);
  else await enqueueReply(change, chatId, act.command);
}

async function leave(change: Change, { what, chatId }: Act): Promise<boolean> {
  await change.execute("delete from messenger_codes where chat_id = $1", [chatId]);
  return endLinkOfChat(change, chatId, what === "blocked" ? "chat_gone" : "chat_stopped");
}

/** The older code ends here, not first when the new one is drawn. */
async function giveCode(change: Change, chatId: number, displayName: string): Promise<void> {
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
