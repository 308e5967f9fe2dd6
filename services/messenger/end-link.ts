// The end of a link: its row, its target, and what was on its way to it. All in the caller's transaction, with its audit
// entry; the chat is told by a job.
import type { Change } from "../shared/database/change.ts";
import { enqueueReply } from "./enqueue-reply.ts";

export type EndReason =
  | "user"
  | "chat_stopped"
  | "chat_gone"
  | "user_blocked"
  | "user_deleted"
  | "tenant_deleted";

interface Ended {
  id: number;
  tenant_id: number;
  user_id: number;
  chat_id: string;
}

/** @returns whether there was one */
export function endLinkOfUser(
  change: Change,
  user: { tenantId: number; userId: number },
  reason: EndReason,
): Promise<boolean> {
  const where = "tenant_id = ? and user_id = ? and ended_at is null";
  return endLinks(change, where, [user.tenantId, user.userId], () => reason, true);
}

/** In the platform's scope: a chat does not know its tenant. @returns whether there was one */
export function endLinkOfChat(change: Change, chatId: number, reason: EndReason): Promise<boolean> {
  return endLinks(change, "chat_id = ? and ended_at is null", [chatId], () => reason, false);
}

const finishedMax = 100;

/** Those that the database ended itself. @returns whether there was one */
export function finishEnded(change: Change, tenantId: number): Promise<boolean> {
  const where = `ctid in (select ctid from messenger_links where tenant_id = ? and ended_at is not null
    order by id limit ${finishedMax} for update skip locked)`;
  return endLinks(change, where, [tenantId], ({ ended_reason: reason }) => reason ?? "user", true);
}

async function endLinks(
  change: Change,
  where: string,
  values: readonly unknown[],
  reasonOf: (row: { ended_reason: EndReason | null }) => EndReason,
  isChatTold: boolean,
): Promise<boolean> {
  const ended = await change.execute<Ended & { ended_reason: EndReason | null }>(
    `delete from messenger_links where ${where} returning id, tenant_id, user_id, chat_id, ended_reason`,
    values,
  );
  for (const row of ended) {
    const { id, tenant_id: tenantId, user_id: userId, chat_id: chatId } = row;
    await change.execute(
      `update delivery_targets set is_active = false, deleted_at = coalesce(deleted_at, now()), updated_at = now()
       where tenant_id = ? and id = ?`,
      [tenantId, id],
    );
    await change.execute(
      `update deliveries set state = 'canceled', finished_at = clock_timestamp()
       where tenant_id = ? and target_id = ? and state = 'pending'`,
      [tenantId, id],
    );
    change.audit({
      tenantId,
      action: "messenger.unlink",
      target: { type: "user", id: userId },
      changes: { reason: reasonOf(row) },
    });
    if (isChatTold) await enqueueReply(change, Number(chatId), "unlinked");
  }
  return ended.length > 0;
}
