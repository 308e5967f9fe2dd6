// Changing and deleting webhooks. A job cancels the pending deliveries of a webhook that is disabled or
// deleted, because there may be many.
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { Unavailable } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { openingKeys } from "../shared/sealing/ask-keys.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { openSecret } from "./open-secrets.ts";
import { assertReachable, type LockedWebhook, lockWebhook, tenantOf } from "./read-webhooks.ts";
import { toWebhook } from "./webhook-row.ts";
import type { ChangedWebhook, webhooksContract } from "./webhooks.contract.ts";
import { librarySentence, loggedUrl } from "./webhooks.rules.ts";

type Update = Call<ParamsOf<(typeof webhooksContract)["webhooks.update"]>>;

const previousSecretHours = 24;

/** @throws NotFound, Invalid when the URL must not be called, Unavailable `keys_unreadable` or `busy` */
export async function updateWebhook(call: Update): Promise<ChangedWebhook> {
  const { webhook_id: id, url, secret } = call.params;
  const tenantId = tenantOf(call);
  // A missing webhook is reported before its new URL is looked up.
  const found = await call.db.change({ tenantId }, call.caller, (change) =>
    lockWebhook(change, tenantId, id),
  );
  if (url !== undefined) await assertReachable(call, url);
  const keys = typeof secret === "string" ? await openingKeys(call, tenantId, [found.secret]) : undefined;
  const row = await call.db.change({ tenantId }, call.caller, async (change) => {
    const locked = await lockWebhook(change, tenantId, id);
    const changes = changesOf(call, locked);
    if (keys !== undefined && typeof secret === "string") {
      const moved = !locked.secret.equals(found.secret);
      const kept = await replaceSecret(change, { keys, moved }, locked, secret);
      if (!kept)
        call.runtime.log.warn({ tenantId, webhookId: id }, "a secret that does not open was replaced");
      changes.secret = "replaced";
    }
    if (Object.keys(changes).length === 0) return locked;
    await write(change, call, locked);
    const logged = url === undefined ? {} : { url: loggedUrl(url) };
    const target = { type: "webhook", id };
    change.audit({ tenantId, action: "webhook.update", target, changes: { ...changes, ...logged } });
    return lockWebhook(change, tenantId, id);
  });
  return {
    ...toWebhook(row),
    ...(typeof secret === "string" ? { for_libraries: librarySentence(secret) } : {}),
  };
}

interface ChangesOfWebhook {
  url?: string;
  events?: readonly string[];
  is_active?: boolean;
  secret?: "replaced";
}

function changesOf(
  { params: { url, events, is_active: isActive } }: Update,
  locked: LockedWebhook,
): ChangesOfWebhook {
  const changes: ChangesOfWebhook = {};
  if (url !== undefined && url !== locked.url) changes.url = loggedUrl(url);
  if (events !== undefined && [...new Set(events)].join() !== locked.events.join()) changes.events = events;
  if (isActive !== undefined && isActive !== locked.is_active) changes.is_active = isActive;
  return changes;
}

async function write(change: Change, { params }: Update, locked: LockedWebhook): Promise<void> {
  const { tenant_id: tenantId, id } = locked;
  const events = params.events === undefined ? null : [...new Set(params.events)];
  await change.execute(
    `update delivery_targets set updated_at = now(), is_active = coalesce($1, is_active),
       events = coalesce($2, events) where tenant_id = $3 and id = $4`,
    [params.is_active ?? null, events, tenantId, id],
  );
  await change.execute("update webhooks set url = coalesce($1, url) where tenant_id = $2 and id = $3", [
    params.url ?? null,
    tenantId,
    id,
  ]);
  if (params.is_active === true && !locked.is_active) {
    await change.execute(
      `update webhooks set failing_since = null, disabled_at = null, disabled_reason = null
       where tenant_id = $1 and id = $2`,
      [tenantId, id],
    );
  }
  if (params.is_active === false && locked.is_active) await cancelLater(change, tenantId, id);
}

/**
 * The old secret is sealed again, because a ciphertext is bound to its column. An old secret that does not
 * open ends at once.
 * @param moved whether the old one was written since the keys to open it were requested
 * @returns whether the old one still signs
 */
async function replaceSecret(
  change: Change,
  { keys, moved }: { keys: TenantKeys; moved: boolean },
  { tenant_id: tenantId, id, secret: sealed }: LockedWebhook,
  secret: string,
): Promise<boolean> {
  // A rotation has resealed it meanwhile: a retry gets the right keys.
  if (moved && !keys.holdsKeyOf(sealed)) throw new Unavailable("busy", "The keys have just changed", 1);
  const previous = openSecret(keys, "secret", id, sealed);
  const fresh = keys.seal("webhooks", "secret", id, secret);
  if (previous === undefined) {
    await change.execute(
      `update webhooks set secret = $1, previous_secret = null, previous_secret_until = null
       where tenant_id = $2 and id = $3`,
      [fresh, tenantId, id],
    );
    return false;
  }
  await change.execute(
    `update webhooks set secret = $1, previous_secret = $2,
       previous_secret_until = now() + interval '${previousSecretHours} hours' where tenant_id = $3 and id = $4`,
    [fresh, keys.seal("webhooks", "previous_secret", id, previous), tenantId, id],
  );
  return true;
}

/** Deletes the webhook and its secret at once; the log of deliveries is swept later. @throws NotFound */
export async function removeWebhook(call: Call<{ webhook_id: number }>): Promise<void> {
  const { webhook_id: id } = call.params;
  const tenantId = tenantOf(call);
  await call.db.change({ tenantId }, call.caller, async (change) => {
    const { url } = await lockWebhook(change, tenantId, id);
    await change.execute("delete from webhooks where tenant_id = $1 and id = $2", [tenantId, id]);
    await change.execute(
      "update delivery_targets set deleted_at = now(), is_active = false where tenant_id = $1 and id = $2",
      [tenantId, id],
    );
    await cancelLater(change, tenantId, id);
    const target = { type: "webhook", id };
    change.audit({ tenantId, action: "webhook.delete", target, changes: { url: loggedUrl(url) } });
  });
}

/** Enqueues the cancellation. A job survives a crash, and its key combines repeated requests. */
export async function cancelLater(change: Change, tenantId: number, targetId: number): Promise<void> {
  const payload = { tenant_id: tenantId, target_id: targetId };
  await change.enqueue("webhooks.cancel", payload, { key: `webhooks.cancel:${targetId}` });
}
