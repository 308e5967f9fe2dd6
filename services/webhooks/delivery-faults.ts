// Targets with deliveries that are due while nothing says so: no worker would ever look at them again.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Remedy } from "../shared/healing/port.ts";
import { numberIn } from "../shared/healing/targets.ts";

const foundMax = 100;
/** Longer than any lease, and than a worker takes to note when a target is due next. */
const lateSeconds = 120;

const isStuck = `t.deleted_at is null and (t.next_due_at is null or t.next_due_at > now())
  and (t.leased_until is null or t.leased_until < now() - interval '${lateSeconds} seconds')
  and not exists (select from tenant_freezes f where f.tenant_id = t.tenant_id and f.until > now())`;
const oldestDue = `select d.due_at from deliveries d where d.tenant_id = t.tenant_id and d.target_id = t.id
  and d.state = 'pending' and d.due_at < now() - interval '${lateSeconds} seconds' order by d.due_at, d.seq limit 1`;

interface Row {
  id: number;
  tenant_id: number;
  channel: string;
  seconds: number;
}

export const deliveryStuck: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (numberIn("target", target) ?? 0);
    const rows = await site.db.read<Row>(platform, {
      name: "webhooks.stuck_targets",
      byIndex: true,
      text: `select t.id, t.tenant_id, t.channel, extract(epoch from now() - d.due_at)::integer as seconds
        from delivery_targets t cross join lateral (${oldestDue}) d
        where ${isStuck} and ($1::integer is null or t.id = $1) order by t.id limit ${foundMax}`,
      values: [one],
    });
    const all = await site.db.readOne<{ targets: number }>(platform, {
      name: "webhooks.live_targets",
      text: "select count(*)::integer as targets from delivery_targets where deleted_at is null and is_active",
      values: [],
    });
    return {
      found: rows.map(({ id, tenant_id: tenantId, channel, seconds }) => ({
        target: `target:${id}`,
        tenantId,
        evidence: { channel, due_for_seconds: seconds },
      })),
      targets: all?.targets ?? 0,
    };
  },
  wouldDo: ({ evidence }) =>
    `Would have the ${String(evidence["channel"])}'s deliveries made, the oldest of which is due for ${String(evidence["due_for_seconds"])} s.`,
  async heal(site, target) {
    const woken = await site.db.write(platform, Caller.system("webhooks"), {
      name: "webhooks.wake_target",
      text: `update delivery_targets t set wakes = wakes + 1, next_due_at = now()
        where t.id = $1 and ${isStuck} and exists (${oldestDue}) returning id`,
      values: [numberIn("target", target) ?? 0],
    });
    return { woken: woken.length };
  },
};
