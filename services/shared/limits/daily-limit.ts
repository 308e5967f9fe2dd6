// Daily limits of a tenant (UTC days). They are counted in the database for all processes, in the same transaction as the counted
// thing. Beyond the limit it is refused or left out, which is an incident: written once to the tenant's audit log and to the
// process's log, counted from then on, and shown by health as open for a day.
import type { Call } from "../bus/bus.ts";
import type { Change } from "../database/change.ts";
import type { Scope } from "../database/scope.ts";
import { TooManyRequests } from "../errors.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import type { RowOf } from "../database/row.ts";

/** Per tenant and day. Each limit is far beyond honest use. */
export const dailyLimits = {
  /** Audit entries of refusals, summaries included. */
  "audit.refusals": 10_000,
  /** The same for callers who are not signed in. Separate, so that strangers cannot use up the entries of members. */
  "audit.strangers": 10_000,
  /** Unsigned payment notifications (no secret is set); counted for the platform. */
  "payments.unsigned_card": 1_000,
  "payments.unsigned_wallet": 1_000,
  /** A deleted webhook stays a row until the night, and its audit entry stays for ever. */
  "webhooks.registered": 500,
  "webhooks.resent": 10_000,
  /** Backups and restores started by people: each reads all rows of the tenant, and its job is kept for months. */
  "backups.begun": 300,
} as const;

export type DailyLimit = keyof typeof dailyLimits;

/**
 * @param weight how many events are lost if this one does not fit: an audit entry may stand for many
 * @returns whether it is within the limit
 */
export async function takeDaily(
  change: Change,
  { log, metrics }: Pick<Runtime, "log" | "metrics">,
  tenantId: number,
  kind: DailyLimit,
  weight = 1,
): Promise<boolean> {
  const bound = dailyLimits[kind];
  const row = await change.one<RowOf<"daily_counts", "taken", { day: string }>>(
    `insert into daily_counts as d (tenant_id, kind, day, taken, bound)
     values ($1, $2, (clock_timestamp() at time zone 'utc')::date, 1, $3)
     on conflict (tenant_id, kind, day) do update set bound = excluded.bound,
       taken = d.taken + case when d.taken < excluded.bound then 1 else $4 end,
       reached_at = case when d.taken >= excluded.bound then coalesce(d.reached_at, clock_timestamp()) end,
       last_at = case when d.taken >= excluded.bound then clock_timestamp() end
     returning taken, day::text as day`,
    [tenantId, kind, bound, weight],
  );
  const taken = Number(row.taken);
  if (taken <= bound) return true;
  metrics?.leftOut(kind, weight);
  if (taken - weight === bound) {
    log.error(
      { tenantId, limit: kind, bound },
      "a limit of the day is reached, what is beyond it is left out",
    );
    change.audit({
      tenantId,
      action: "limit.reach",
      outcome: "error",
      changes: { limit: kind, bound, day: row.day },
    });
  }
  return false;
}

/**
 * Counts one thing that is refused beyond the limit. It uses a transaction of its own, because the refusal must be recorded.
 * @throws TooManyRequests until the next day begins
 */
export async function limitDaily(
  call: Call<unknown>,
  scope: Scope,
  tenantId: number,
  kind: DailyLimit,
): Promise<void> {
  const isWithin = await call.db.change(scope, call.caller, (change) =>
    takeDaily(change, call.runtime, tenantId, kind),
  );
  if (!isWithin) throw tooManyToday();
}

/** 429 until the next day (UTC) begins. */
export const tooManyToday = () => new TooManyRequests(Math.ceil((dayMs - (Date.now() % dayMs)) / 1000));

const dayMs = 86_400_000;
