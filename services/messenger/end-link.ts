// Ends links: deletes the row and its target and writes the audit entry in the caller's transaction. Jobs
// cancel the pending deliveries and notify the chat.
import type { Change } from "../shared/database/change.ts";
import { enqueueReply } from "./enqueue-reply.ts";

/** Why a link ended, for the audit log. */
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

/** Ends the user's link. @returns whether there was one */
export function endLinkOfUser(
  change: Change,
  user: { tenantId: number; userId: number },
  reason: EndReason,
): Promise<boolean> {
  const where = "tenant_id = $1 and user_id = $2 and ended_at is null";
  return endLinks(change, where, [user.tenantId, user.userId], () => reason, true);
}

/**
 * Ends the chat's link, in the platform scope, because a chat does not know its tenant.
 * @returns whether there was one
 */
export function endLinkOfChat(change: Change, chatId: number, reason: EndReason): Promise<boolean> {
  return endLinks(change, "chat_id = $1 and ended_at is null", [chatId], () => reason, false);
}

const finishedMax = 100;

/**
 * Completes links of all tenants that the database's triggers have ended, up to `finishedMax`.
 * @returns whether there was one
 */
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
  notifiesChat: boolean,
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
    // A job cancels in batches, because after an outage there may be many deliveries. The worker itself drops
    // those that become due.
    await change.enqueue("webhooks.cancel", { tenant_id: tenantId, target_id: id });
    change.audit({
      tenantId,
      action: "messenger.unlink",
      target: { type: "user", id: userId },
      changes: { reason: reasonOf(row) },
    });
    if (notifiesChat) await enqueueReply(change, Number(chatId), "unlinked");
  }
  return ended.length > 0;
}
