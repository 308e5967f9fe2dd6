// Detects targets with due deliveries that no worker will find, failing webhooks, and a lagging outbox.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Detector, Remedy } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import type { RowOf } from "../shared/database/row.ts";

const foundMax = 100;
/** Longer than any lease, and than a worker takes to store a target's next due time. */
const lateSeconds = 120;

const isStuck = `t.deleted_at is null and (t.next_due_at is null or t.next_due_at > now())
  and (t.leased_until is null or t.leased_until < now() - interval '${lateSeconds} seconds')
  and not exists (select from tenant_freezes f where f.tenant_id = t.tenant_id and f.until > now())`;
const oldestDue = `select d.due_at from deliveries d where d.tenant_id = t.tenant_id and d.target_id = t.id
  and d.state = 'pending' and d.due_at < now() - interval '${lateSeconds} seconds' order by d.due_at, d.seq limit 1`;

type Row = RowOf<"delivery_targets", "id" | "tenant_id" | "channel", { seconds: number }>;

/** The remedy `delivery_stuck`: its target is `target:<id>`; healing marks the target as due. */
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

/** The tenant is notified when a webhook is disabled after five days. Operators are notified earlier. */
const failingHours = 48;

/** The detector `webhook_failing`; its target is `webhook:<id>`. */
export const webhookFailing: Detector = {
  async find(site, { target }) {
    const rows = await site.db.read<RowOf<"webhooks", "id" | "tenant_id", { hours: number }>>(platform, {
      name: "webhooks.failing",
      text: `select w.id, w.tenant_id, (extract(epoch from now() - w.failing_since) / 3600)::integer as hours
        from webhooks w join delivery_targets t on t.tenant_id = w.tenant_id and t.id = w.id
        where w.failing_since < now() - interval '${failingHours} hours' and w.disabled_at is null
          and t.is_active and t.deleted_at is null and ($1::integer is null or w.id = $1) order by w.id limit ${foundMax}`,
      values: [target === undefined ? null : (numberIn("webhook", target) ?? 0)],
    });
    return {
      found: rows.map(({ id, tenant_id: tenantId, hours }) => ({
        target: `webhook:${id}`,
        tenantId,
        evidence: { webhook_id: id, failing_for_hours: hours },
      })),
    };
  },
};

/** The queue is polled four times a second. */
const laggingSeconds = 120;

/** The detector `outbox_lagging`. */
export const outboxLagging: Detector = {
  async find(site) {
    const row = await site.db.readOne<{ waiting: number; seconds: number | null }>(platform, {
      name: "webhooks.outbox_lag",
      text: `select count(*)::integer as waiting, extract(epoch from now() - min(e.created_at))::integer as seconds
        from (select tenant_id, event_id from fan_out_queue q where not exists (select from tenant_freezes f
            where f.tenant_id = q.tenant_id and f.until > now()) order by event_id limit 1000) q
          join events e on e.tenant_id = q.tenant_id and e.id = q.event_id`,
      values: [],
    });
    if (row === undefined || row.seconds === null || row.seconds < laggingSeconds) return { found: [] };
    const evidence = { waiting: row.waiting, oldest_seconds: row.seconds };
    return { found: [{ target: "outbox", tenantId: null, evidence }] };
  },
};
