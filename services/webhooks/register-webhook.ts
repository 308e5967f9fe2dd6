// Registers a webhook. The secret is sealed before it is written, and returned only when it was generated
// here.
import { randomBytes } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { Conflict } from "../shared/errors.ts";
import { limitDaily } from "../shared/limits/daily-limit.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { sealingKeys } from "../shared/sealing/ask-keys.ts";
import { assertReachable, lockWebhook, tenantOf, webhooksMax } from "./read-webhooks.ts";
import { toWebhook } from "./webhook-row.ts";
import type { RegisteredWebhook, webhooksContract } from "./webhooks.contract.ts";
import { loggedUrl, secretOf, librarySentence } from "./webhooks.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

type Register = Call<ParamsOf<(typeof webhooksContract)["webhooks.register"]>>;

/** @throws Invalid when the URL must not be called, Conflict `too_many_webhooks`, TooManyRequests */
export async function registerWebhook(call: Register): Promise<RegisteredWebhook> {
  const { url } = call.params;
  const tenantId = tenantOf(call);
  await limitDaily(call, { tenantId }, tenantId, "webhooks.registered");
  await assertReachable(call, url);
  const keys = await sealingKeys(call, tenantId);
  const sent = call.params.secret ?? undefined;
  const secret = sent ?? secretOf(randomBytes(32));
  const events = [...new Set(call.params.events)];
  const row = await call.db.change({ tenantId }, call.caller, async (change) => {
    await assertBelowMaximum(change, tenantId);
    const [drawn] = await change.execute<RowOf<"delivery_targets", "id">>(
      `insert into delivery_targets (tenant_id, channel, events) values ($1, 'webhook', $2) returning id`,
      [tenantId, events],
    );
    const id = drawn?.id ?? 0;
    await change.execute("insert into webhooks (tenant_id, id, url, secret) values ($1, $2, $3, $4)", [
      tenantId,
      id,
      url,
      keys.seal("webhooks", "secret", id, secret),
    ]);
    const target = { type: "webhook", id };
    const made = await lockWebhook(change, tenantId, id);
    const facts = { url: loggedUrl(url), events, is_active: made.is_active };
    const changes = { ...facts, secret: sent === undefined ? "generated" : "given" };
    change.audit({ tenantId, action: "webhook.register", target, changes });
    return made;
  });
  return {
    ...toWebhook(row),
    ...(sent === undefined ? { secret } : {}),
    for_libraries: librarySentence(secret),
  };
}

/**
 * The lock on the tenant's row serialises concurrent registrations, so that each sees the other in the count.
 */
async function assertBelowMaximum(change: Change, tenantId: number): Promise<void> {
  await change.execute("select id from tenants where id = $1 for no key update", [tenantId]);
  const [counted] = await change.execute<{ webhooks: number }>(
    `select count(*)::integer as webhooks from delivery_targets
     where tenant_id = $1 and channel = 'webhook' and deleted_at is null`,
    [tenantId],
  );
  if ((counted?.webhooks ?? 0) >= webhooksMax)
    throw new Conflict("too_many_webhooks", `A tenant has at most ${webhooksMax} webhooks`);
}
