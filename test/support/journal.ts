// What a change left behind, read by the owner: audit entries and events.
import type { TestService } from "./service.ts";

export interface Entry {
  tenant_id: number;
  user_id: number | null;
  action: string;
  target_type: string | null;
  target_id: string | null;
  outcome: string;
  changes: Record<string, unknown>;
  ip: string | null;
  request_id: string | null;
}

export interface Told {
  tenant_id: number;
  kind: string;
  payload: Record<string, unknown>;
}

/**
 * Runs `work`; @returns the entries and events that came into being meanwhile, in order.
 * @param repeats whether refusals that were counted before are forgotten, so that what is refused now is the first again
 */
export async function traceOf(
  service: TestService,
  work: () => Promise<unknown>,
  repeats: "forgotten" | "kept" = "forgotten",
): Promise<{ entries: Entry[]; events: Told[] }> {
  const { owner } = service.database;
  const last = async (table: "audit_entries" | "events"): Promise<string> =>
    (await owner.query(`select coalesce(max(id), 0) as id from ${table}`)).rows[0].id;
  if (repeats === "forgotten") await owner.query("delete from audit_repeats");
  const [lastEntry, lastEvent] = [await last("audit_entries"), await last("events")];
  await work();
  const entries = await owner.query<Entry>("select * from audit_entries where id > $1 order by id", [
    lastEntry,
  ]);
  const events = await owner.query<Told>("select * from events where id > $1 order by id", [lastEvent]);
  return { entries: entries.rows, events: events.rows };
}

/** How often an action has entries, by the reason or code they state ("ok" without one), what is summed up included. */
export async function reasonsOf(
  service: TestService,
  action: string,
  targetId: number | undefined,
): Promise<Record<string, number>> {
  const { rows } = await service.database.owner.query<{ reason: string; times: number }>(
    `with told as (
       select changes, outcome, target_id, coalesce((changes->>'times')::integer, 1) as times from audit_entries
       where action = $1
       union all
       select changes, outcome, target_id, times from audit_repeats where action = $1 and times > 0)
     select coalesce(changes->>'reason', changes->>'code', outcome) as reason, sum(times)::integer as times
     from told where ($2::text is null or target_id = $2) group by 1`,
    [action, targetId === undefined ? null : String(targetId)],
  );
  return Object.fromEntries(rows.map(({ reason, times }) => [reason, times]));
}
