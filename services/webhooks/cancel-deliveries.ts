// Cancels the pending deliveries of a webhook that was disabled or deleted, in batches, because there may be
// many.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const batch = 2_000;
const batchesMax = 1_000;

/**
 * The job `webhooks.cancel`. Stops when the webhook is active again; the remaining deliveries then continue.
 */
export async function cancelDeliveries(this: { runtime: Runtime }, payload: unknown): Promise<void> {
  // The payload is written by change-webhook.ts.
  const { tenant_id: tenantId, target_id: targetId } = payload as { tenant_id: number; target_id: number };
  await inBatches({ rowsMax: batch, batchesMax }, async () => {
    const canceled = await this.runtime.database.write(platform, Caller.system("webhooks"), {
      name: "webhooks.cancel",
      text: `update deliveries set state = 'canceled', finished_at = clock_timestamp()
        where id in (select d.id from deliveries d
          join delivery_targets t on t.tenant_id = d.tenant_id and t.id = d.target_id and not t.is_active
          where d.tenant_id = $1 and d.target_id = $2 and d.state = 'pending'
          order by d.due_at, d.seq limit ${batch} for update of d skip locked)
        returning id`,
      values: [tenantId, targetId],
    });
    return canceled.length;
  });
}
