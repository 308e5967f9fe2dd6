// Disables a webhook that fails permanently: writes an event, an audit entry and a mail to each administrator
// of the tenant.
import { Caller } from "../shared/caller.ts";
import type { Database } from "../shared/database/database.ts";
import { cancelLater } from "./change-webhook.ts";
import type { disableReasons } from "./webhooks.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

const mailsMax = 20;

export type DisableReason = (typeof disableReasons)[number];

/** Idempotent: does nothing when the webhook is inactive already. */
export async function disableWebhook(
  database: Database,
  { tenantId, id }: { tenantId: number; id: number },
  reason: DisableReason,
): Promise<void> {
  await database.change({ tenantId }, Caller.system("webhooks"), async (change) => {
    const [disabled] = await change.execute(
      `update delivery_targets set is_active = false, updated_at = now()
       where tenant_id = $1 and id = $2 and is_active and deleted_at is null returning id`,
      [tenantId, id],
    );
    if (disabled === undefined) return;
    await change.execute(
      "update webhooks set disabled_at = now(), disabled_reason = $1 where tenant_id = $2 and id = $3",
      [reason, tenantId, id],
    );
    await cancelLater(change, tenantId, id);
    const administrators = await change.execute<RowOf<"users", "id">>(
      `select id from users where tenant_id = $1 and role in ('admin', 'superadmin') and is_active
         and deleted_at is null order by id limit ${mailsMax}`,
      [tenantId],
    );
    for (const { id: userId } of administrators)
      await change.enqueue("mail.webhook_disabled", { user_id: userId, webhook_id: id, reason });
    change.audit({
      tenantId,
      action: "webhook.disable",
      target: { type: "webhook", id },
      changes: { reason },
    });
    change.publishEvent({ tenantId, kind: "webhook.disabled", payload: { webhook_id: id, reason } });
  });
}
