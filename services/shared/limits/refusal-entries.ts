// Daily limits for audit entries of refusals: per tenant, and per member, so that a member who is refused all day long leaves
// room for the entries of others. The count of a member is a row of `rate_limits`; losing it in a crash is harmless. Refusals
// beyond a member's limit are counted in one row of `daily_counts` for all members of the tenant, which is the incident.
import type { Change } from "../database/change.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { type DailyLimit, takeDaily } from "./daily-limit.ts";
import type { RowOf } from "../database/row.ts";

/** Entries per member and day, summaries included: a twentieth of the tenant's limit. */
export const memberRefusalsMax = 500;
export const memberLimit = "audit.member_refusals";

const ofStrangers: ReadonlySet<string> = new Set(["auth.login", "user.register"]);

/** @returns the daily limit that applies to refusals of the action */
function limitOf(action: string): DailyLimit {
  return ofStrangers.has(action) ? "audit.strangers" : "audit.refusals";
}

export interface RefusalEntry {
  tenantId: number;
  /** The user who was refused; null if nobody was signed in. */
  userId: number | null;
  action: string;
}

/**
 * @param weight how many refusals are lost if the entry does not fit
 * @returns whether an entry may be written; otherwise the refusal is only counted
 */
export async function takeRefusalEntry(
  change: Change,
  runtime: Pick<Runtime, "log" | "metrics">,
  { tenantId, userId, action }: RefusalEntry,
  weight = 1,
): Promise<boolean> {
  const limit = limitOf(action);
  if (limit === "audit.refusals" && userId !== null) {
    const taken = await countOfMember(change, userId);
    if (taken > memberRefusalsMax) {
      await omitEntry(change, runtime, {
        tenantId,
        userId,
        weight,
        isFirst: taken === memberRefusalsMax + 1,
      });
      return false;
    }
  }
  return takeDaily(change, runtime, tenantId, limit, weight);
}

/** @returns the number of this entry within the day, from 1 */
async function countOfMember(change: Change, userId: number): Promise<number> {
  const row = await change.one<RowOf<"rate_limits", "points">>(
    `insert into rate_limits as r (key, points, expire)
     select $1 || ':' || $2::text || ':' || day::date, 1, extract(epoch from (day + interval '1 day') at time zone 'utc') * 1000
     from date_trunc('day', clock_timestamp() at time zone 'utc') day
     on conflict (key) do update set points = least(r.points + 1, $3::integer)
     returning points`,
    // The count stops at two beyond the limit: the exact number is not needed.
    [memberLimit, userId, memberRefusalsMax + 2],
  );
  return row.points;
}

async function omitEntry(
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
