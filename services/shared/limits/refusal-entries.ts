// How many entries of refusals a day takes: of a tenant, and of each of its members, so that one who is refused all day long
// leaves room for what others are refused. A member's count is a row of `rate_limits`, as losing it in a crash only forgives;
// what is beyond the bound is counted in one row of `daily_counts` for all members of the tenant, which is the incident.
import type { Change } from "../database/change.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { type DailyLimit, takeDaily } from "./daily-limit.ts";
import type { RowOf } from "../database/row.ts";

/** Entries a day and member, those that sum up repetitions included: a twentieth of the tenant's. */
export const memberRefusalsMax = 500;
export const memberLimit = "audit.member_refusals";

const ofStrangers: ReadonlySet<string> = new Set(["auth.login", "user.register"]);

/** Under which bound of the day the entries of an action's refusals are. */
function limitOf(action: string): DailyLimit {
  return ofStrangers.has(action) ? "audit.strangers" : "audit.refusals";
}

export interface RefusalEntry {
  tenantId: number;
  /** Who was refused; null for who has not signed in. */
  userId: number | null;
  action: string;
}

/**
 * @param weight how many refusals are lost where it does not fit
 * @returns whether there may be an entry; else it is counted alone
 */
export async function takeRefusalEntry(
  change: Change,
  runtime: Pick<Runtime, "log" | "metrics">,
  { tenantId, userId, action }: RefusalEntry,
  weight = 1,
): Promise<boolean> {
  const limit = limitOf(action);
  if (limit === "audit.refusals" && userId !== null) {
    const taken = await takeOfMember(change, userId);
    if (taken > memberRefusalsMax) {
      await leaveOut(change, runtime, { tenantId, userId, weight, isFirst: taken === memberRefusalsMax + 1 });
      return false;
    }
  }
  return takeDaily(change, runtime, tenantId, limit, weight);
}

/** @returns the how manieth of today it is */
async function takeOfMember(change: Change, userId: number): Promise<number> {
  const row = await change.one<RowOf<"rate_limits", "points">>(
    `insert into rate_limits as r (key, points, expire)
     select $1 || ':' || $2::text || ':' || day::date, 1, extract(epoch from (day + interval '1 day') at time zone 'utc') * 1000
     from date_trunc('day', clock_timestamp() at time zone 'utc') day
     on conflict (key) do update set points = least(r.points + 1, $3::integer)
     returning points`,
    // Two beyond the bound stands for all that follow.
    [memberLimit, userId, memberRefusalsMax + 2],
  );
  return row.points;
}

async function leaveOut(
  change: Change,
  { log, metrics }: Pick<Runtime, "log" | "metrics">,
  what: { tenantId: number; userId: number; weight: number; isFirst: boolean },
): Promise<void> {
  const { tenantId, userId, weight, isFirst } = what;
  const bound = memberRefusalsMax;
  const row = await change.one<{ day: string }>(
    `insert into daily_counts as d (tenant_id, kind, day, taken, bound, reached_at, last_at)
     values ($1, $2, (clock_timestamp() at time zone 'utc')::date, $3::bigint + $4, $3, clock_timestamp(), clock_timestamp())
     on conflict (tenant_id, kind, day) do update set taken = d.taken + $4, last_at = clock_timestamp()
     returning day::text as day`,
    [tenantId, memberLimit, bound, weight],
  );
  metrics?.leftOut(memberLimit, weight);
  if (!isFirst) return;
  log.error(
    { tenantId, limit: memberLimit, bound, userId },
    "a member's refusals of the day are beyond their bound, what follows is left out",
  );
  change.audit({
    tenantId,
    action: "limit.reach",
    outcome: "error",
    target: { type: "user", id: userId },
    changes: { limit: memberLimit, bound, day: row.day },
  });
}
