// Metrics of pending deliveries, their lag, the outbox and failing webhooks, for all channels.
import { platform } from "../shared/database/scope.ts";
import type { MetricSample } from "../shared/cached-samples.ts";
import type { Runtime } from "../../host/process/runtime.ts";

/** Bound of a count. Beyond it the number is not useful any more, and the lag still grows. */
const countedMax = 10_000;
const targetsMax = 1_000;

const gauges = {
  records_deliveries_pending: {
    help: "Deliveries that are not made yet, by channel; the first 10000 are counted",
    labels: ["channel"],
  },
  records_deliveries_lag_seconds: {
    help: "How long the delivery that is due for longest is due, by channel; retries are due when their wait is over",
    labels: ["channel"],
  },
  records_outbox_events: { help: "Events that are not deliveries yet; the first 10000 are counted" },
  records_outbox_lag_seconds: { help: "Age of the oldest event that is not deliveries yet" },
  records_webhooks_failing: {
    help: "Webhooks that nothing but failures come from, and that are not switched off yet",
  },
} as const;

type Name = keyof typeof gauges;

/** Excludes tenants that are being restored, whose deliveries and outbox wait intentionally. */
const notFrozen = (tenant: string) =>
  `not exists (select from tenant_freezes f where f.tenant_id = ${tenant} and f.until > now())`;

/**
 * The lag is that of the oldest delivery among those counted, and among the first of each of the thousand
 * targets that are due longest. The first set alone would miss a target that is stuck; the second alone one
 * beyond the bound.
 */
const channels = `select c.channel, count(d.due_at) filter (where d.counts)::integer as pending,
    coalesce(greatest(extract(epoch from now() - min(d.due_at)), 0), 0)::float8 as lag
  from unnest(array['webhook', 'messenger']) c (channel)
    left join (select t.channel, p.due_at, true as counts
      from (select tenant_id, target_id, due_at from deliveries where state = 'pending' limit ${countedMax}) p
        join delivery_targets t on t.tenant_id = p.tenant_id and t.id = p.target_id
      where t.deleted_at is null and ${notFrozen("p.tenant_id")}
      union all select t.channel, p.due_at, false
      from (select tenant_id, id, channel from delivery_targets where next_due_at <= now() and deleted_at is null
          order by next_due_at limit ${targetsMax}) t
        cross join lateral (select due_at from deliveries where tenant_id = t.tenant_id and target_id = t.id
          and state = 'pending' order by due_at, seq limit 1) p
      where ${notFrozen("t.tenant_id")}) d on d.channel = c.channel
  group by c.channel`;

/**
 * The oldest event is searched among the first of each tenant, because their key is in the order of the
 * events.
 */
const rest = `select (select count(*)::integer from (select from fan_out_queue limit ${countedMax}) q) as events,
    (select coalesce(greatest(extract(epoch from now() - min(e.created_at)), 0), 0)::float8
      from (select tenant_id, event_id from fan_out_queue q where ${notFrozen("q.tenant_id")}
        order by event_id limit 100) q join events e on e.tenant_id = q.tenant_id and e.id = q.event_id) as lag,
    (select count(*)::integer from webhooks where failing_since is not null and disabled_at is null) as failing`;

async function read({ database: db }: Runtime): Promise<MetricSample<Name>[]> {
  const byChannel = await db.read<{ channel: string; pending: number; lag: number }>(platform, {
    name: "webhooks.delivery_figures",
    text: channels,
    values: [],
  });
  const row = await db.readOne<{ events: number; lag: number; failing: number }>(platform, {
    name: "webhooks.outbox_figures",
    text: rest,
    values: [],
  });
  return [
    ...byChannel.flatMap(({ channel, pending, lag }): MetricSample<Name>[] => [
      { name: "records_deliveries_pending", labels: { channel }, value: pending },
      { name: "records_deliveries_lag_seconds", labels: { channel }, value: lag },
    ]),
    ...(row === undefined
      ? []
      : ([
          { name: "records_outbox_events", value: row.events },
          { name: "records_outbox_lag_seconds", value: row.lag },
          { name: "records_webhooks_failing", value: row.failing },
        ] satisfies MetricSample<Name>[])),
  ];
}

/** Registers the metrics, which are read from the database when they are collected. */
export function watchDeliveries(runtime: Runtime): void {
  runtime.metrics?.sample("deliveries", gauges, () => read(runtime));
}
