// Asking for an answer in a chat, together with what it answers.
import type { Change } from "../shared/database/change.ts";
import { changedAt } from "../shared/database/clock.ts";

export type Reply =
  | "code"
  | "already_linked"
  | "linked"
  | "unlinked"
  | "not_linked"
  | "status"
  | "help"
  | "not_private";

export async function enqueueReply(change: Change, chatId: number, reply: Reply): Promise<void> {
  await change.enqueue("messenger.reply", {
    chat_id: chatId,
    reply,
    asked_at: (await changedAt(change)).getTime(),
  });
}
