// Enqueues a reply to a chat, in the transaction of the change that it answers.
import type { Change } from "../shared/database/change.ts";
import { changedAt } from "../shared/database/clock.ts";

/** The texts that the bot can reply with. */
export type Reply =
  | "code"
  | "already_linked"
  | "linked"
  | "unlinked"
  | "not_linked"
  | "status"
  | "help"
  | "not_private";

/** The reply expires ten minutes after this call. */
export async function enqueueReply(change: Change, chatId: number, reply: Reply): Promise<void> {
  await change.enqueue("messenger.reply", {
    chat_id: chatId,
    reply,
    asked_at: (await changedAt(change)).getTime(),
  });
}
