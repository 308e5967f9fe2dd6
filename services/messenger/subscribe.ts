// The subscriptions of a linked chat: set by its user, and recomputed whenever the user's role changes.
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import type { EventKind } from "../shared/event-kinds.ts";
import { Conflict, Forbidden } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import { refusedKinds, deliveredKinds } from "./kinds.rules.ts";
import type { MessengerStatus } from "./messenger.contract.ts";
import { accountOf, configuredBot, readStatus } from "./caller-link.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Limited because each change is a permanent audit entry. */
const changesOf = perRuntime(({ database }) => new RateLimit(database, "messenger_subscribe", 60, 3_600));

/**
 * Replaces the caller's subscriptions.
 * @throws Forbidden `event_not_allowed`, Conflict `not_linked` or `messenger_off`, TooManyRequests
 */
export async function subscribe(call: Call<{ events: (EventKind | "*")[] }>): Promise<MessengerStatus> {
  configuredBot(call.runtime);
  const account = accountOf(call);
  const { tenantId, userId, role } = account;
  const events = [...new Set(call.params.events)];
  const refused = refusedKinds(role, events);
  if (refused.length > 0)
    throw new Forbidden("event_not_allowed", `Your role may not see ${refused.join(", ")}`);
  await changesOf(call.runtime).take(`${tenantId}:${userId}`);
  await call.db.change({ tenantId }, call.caller, async (change) => {
    const [link] = await change.execute<RowOf<"messenger_links", "id">>(
      "select id from messenger_links where tenant_id = $1 and user_id = $2 and ended_at is null for no key update",
      [tenantId, userId],
    );
    if (link === undefined) throw new Conflict("not_linked", "The account has no linked chat");
    await change.execute("update messenger_links set events = $1 where tenant_id = $2 and id = $3", [
      events,
      tenantId,
      link.id,
    ]);
    await updateTarget(change, { tenantId, id: link.id }, deliveredKinds(role, events));
    const target = { type: "user", id: userId };
    change.audit({ tenantId, action: "messenger.subscribe", target, changes: { events } });
  });
  return readStatus(call.runtime, account);
}

async function updateTarget(
  change: Change,
  { tenantId, id }: { tenantId: number; id: number },
  kinds: readonly string[],
): Promise<void> {
  await change.execute(
    `update delivery_targets set events = $1, is_active = $2, updated_at = now()
     where tenant_id = $3 and id = $4 and deleted_at is null`,
    [kinds, kinds.length > 0, tenantId, id],
  );
}

/** Recomputes the kinds of the user's link after a change of role. */
export async function recomputeSubscriptions(
  change: Change,
  tenantId: number,
  userId: number,
): Promise<void> {
  const [link] = await change.execute<RowOf<"messenger_links", "id" | "events"> & RowOf<"users", "role">>(
    `select l.id, l.events, u.role from messenger_links l
     join users u on u.tenant_id = l.tenant_id and u.id = l.user_id
     where l.tenant_id = $1 and l.user_id = $2 and l.ended_at is null for no key update of l`,
    [tenantId, userId],
  );
  if (link !== undefined)
    await updateTarget(change, { tenantId, id: link.id }, deliveredKinds(link.role, link.events));
}
