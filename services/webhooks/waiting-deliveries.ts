// Targets with pending deliveries, for operators at the REPL, those that have waited longest first. There is
// no route, and neither URLs nor payloads are shown.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Forbidden } from "../shared/errors.ts";
import { ownTenant } from "../shared/administered-scope.ts";
import { toIso } from "../shared/wire.ts";
import type { WaitingTarget } from "./deliveries.contract.ts";

const targetsMax = 100;

/** @throws Forbidden for users of a tenant, including superadmins */
export async function waitingDeliveries(
  call: Call<{ tenant_id?: number }>,
): Promise<{ items: WaitingTarget[] }> {
  if (ownTenant(call.caller) !== undefined) throw new Forbidden();
  const rows = await call.db.read<WaitingTarget>(platform, {
    text: `select d.target_id, d.tenant_id, t.channel, t.is_active as active, d.pending, d.tries, d.due_at, t.leased_until > now() as sending
      from (select tenant_id, target_id, count(*)::integer as pending, max(attempts)::integer as tries,
          min(due_at)::timestamptz(3) as due_at
        from deliveries where state = 'pending' and ($1::integer is null or tenant_id = $1)
        group by tenant_id, target_id order by min(due_at) limit ${targetsMax}) d
      join delivery_targets t on t.tenant_id = d.tenant_id and t.id = d.target_id order by d.due_at, d.target_id`,
    values: [call.params.tenant_id ?? null],
  });
  return { items: rows.map((row) => ({ ...row, sending: row.sending ?? false, due_at: toIso(row.due_at) })) };
}
