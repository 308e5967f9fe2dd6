// The end of a link: its row, its target, and its audit entry in the caller's transaction; what was on its way ends, and the
// chat is told, by jobs.
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
  const where = "tenant_id = $1 and user_id = $2 and ended_at is null";
  return endLinks(change, where, [user.tenantId, user.userId], () => reason, true);
}

/** In the platform's scope: a chat does not know its tenant. @returns whether there was one */
export function endLinkOfChat(change: Change, chatId: number, reason: EndReason): Promise<boolean> {
  return endLinks(change, "chat_id = $1 and ended_at is null", [chatId], () => reason, false);
}

const finishedMax = 100;

/** Those that the database ended itself, of all tenants. @returns whether there was one */
export function finishEnded(change: Change): Promise<boolean> {
  const where = `ctid in (select ctid from messenger_links where ended_at is not null
    order by ended_at limit ${finishedMax} for update skip locked)`;
  return endLinks(change, where, [], ({ ended_reason: reason }) => reason ?? "user", true);
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
       where tenant_id = $1 and id = $2`,
      [tenantId, id],
    );
    // In batches, and so by a job: after an outage it may be a long backlog. The worker drops what is due by itself.
    await change.enqueue("webhooks.cancel", { tenant_id: tenantId, target_id: id });
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
