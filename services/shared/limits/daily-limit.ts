// What a tenant may have of something in a day (UTC): counted in the database for all processes, in the transaction of what
// is taken. Beyond the bound it is refused or left out, and that is an incident: said once in the tenant's audit log and
// the process's log, counted from then on, and told by health as open for a day.
import type { Call } from "../bus/bus.ts";
import type { Change } from "../database/change.ts";
import type { Scope } from "../database/scope.ts";
import { TooManyRequests } from "../errors.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import type { RowOf } from "../database/row.ts";

/** So much a day and tenant. None of them is a clinic's business; each is far beyond what an honest one meets. */
export const dailyLimits = {
  /** Audit entries of refusals, those that sum up repetitions included. */
  "audit.refusals": 10_000,
  /** The same of those who have not signed in: what strangers do is no reason to say less of who has. */
  "audit.strangers": 10_000,
  /** Notifications of payments that nobody has signed, as no secret is set; in the platform's name. */
  "payments.unsigned_card": 1_000,
  "payments.unsigned_wallet": 1_000,
  /** A deleted webhook stays a row until the night, and an entry for ever. */
  "webhooks.registered": 500,
  "webhooks.resent": 10_000,
  /** Backups and restores that people begin: each reads all of the tenant's rows, and its job is kept for months. */
  "backups.begun": 300,
} as const;

export type DailyLimit = keyof typeof dailyLimits;

/**
 * @param weight what is lost of it where it does not fit: an entry may stand for many
 * @returns whether it is within the bound
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
 * For what is refused beyond the bound. In a transaction of its own, as that it was refused has to be kept.
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

/** Until the next day begins. */
export const tooManyToday = () => new TooManyRequests(Math.ceil((dayMs - (Date.now() % dayMs)) / 1000));

const dayMs = 86_400_000;
