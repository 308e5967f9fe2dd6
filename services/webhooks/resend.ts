// Resends a delivery, or starts the recovery of missed ones.
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { Conflict, Invalid, NotFound } from "../shared/errors.ts";
import { limitDaily } from "../shared/limits/daily-limit.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import { wakeTarget } from "../../mixins/deliveries/wake-target.ts";
import type { deliveriesContract, WireDelivery } from "./deliveries.contract.ts";
import { deliveryColumns, type DeliveryRow, lastAttempt, toDelivery } from "./list-deliveries.ts";
import { deliveryIdOf } from "./message-id.ts";
import { lockWebhook, tenantOf } from "./read-webhooks.ts";

type Resend = Call<ParamsOf<(typeof deliveriesContract)["webhooks.resend"]>>;
type Recover = Call<ParamsOf<(typeof deliveriesContract)["webhooks.recover"]>>;

/**
 * Makes a delivery due again, under the same id.
 * @throws NotFound, Conflict `webhook_inactive`, TooManyRequests
 */
export async function resendDelivery(call: Resend): Promise<WireDelivery> {
  const { webhook_id: id, delivery_id: message } = call.params;
  const tenantId = tenantOf(call);
  const deliveryId = deliveryIdOf(message);
  if (deliveryId === undefined) throw new NotFound("Delivery");
  await limitDaily(call, { tenantId }, tenantId, "webhooks.resent");
  const row = await call.db.change({ tenantId }, call.caller, async (change) => {
    await lockActiveWebhook(change, tenantId, id);
    const [again] = await change.execute(
      `update deliveries set state = 'pending', cause = 'manual', tries = 0, due_at = clock_timestamp(), finished_at = null
       where tenant_id = $1 and target_id = $2 and id = $3::uuid returning id`,
      [tenantId, id, deliveryId],
    );
    if (again === undefined) throw new NotFound("Delivery");
    await wakeTarget(change, { tenantId, targetId: id });
    const target = { type: "webhook", id };
    change.audit({ tenantId, action: "webhook.resend", target, changes: { delivery_id: message } });
    const [read] = await change.execute<RawRow>(
      `select ${deliveryColumns} from deliveries d ${lastAttempt} where d.tenant_id = $1 and d.id = $2::uuid`,
      [tenantId, deliveryId],
    );
    if (read === undefined) throw new NotFound("Delivery");
    return read;
  });
  return toDelivery(row);
}

/** A recovery may make all failed deliveries due again, so a tenant may start thirty an hour. */
const recoveriesOf = perRuntime(({ database }) => new RateLimit(database, "webhook_recover", 30, 3_600));

/**
 * Enqueues the recovery as a job, because it may concern many deliveries.
 * @throws NotFound, Invalid, Conflict `webhook_inactive`, TooManyRequests
 */
export async function recoverDeliveries(call: Recover): Promise<{ webhook_id: number; since: string }> {
  const { webhook_id: id, since } = call.params;
  const tenantId = tenantOf(call);
  await recoveriesOf(call.runtime).take(String(tenantId));
  await call.db.change({ tenantId }, call.caller, async (change) => {
    await lockActiveWebhook(change, tenantId, id);
    const [clock] = await change.execute<{ past: boolean }>("select $1::timestamptz <= now() as past", [
      since.at,
    ]);
    if (clock?.past !== true) throw Invalid.body("since", "the time has to lie in the past");
    const payload = { tenant_id: tenantId, target_id: id, since: since.at };
    await change.enqueue("webhooks.recover", payload, { key: `webhooks.recover:${id}:${since.at}` });
    const target = { type: "webhook", id };
    change.audit({ tenantId, action: "webhook.recover", target, changes: { since: since.at } });
  });
  return { webhook_id: id, since: since.at };
}

type RawRow = DeliveryRow;

/** Refuses an inactive webhook, whose deliveries would be canceled at once. */
async function lockActiveWebhook(change: Change, tenantId: number, id: number): Promise<void> {
  const { is_active: isActive } = await lockWebhook(change, tenantId, id);
  if (!isActive) throw new Conflict("webhook_inactive", "The webhook is switched off");
}
