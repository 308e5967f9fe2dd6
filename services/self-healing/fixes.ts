// The list of fixes, and statistics of healing.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { toIso } from "../shared/wire.ts";
import { type Fix, fixColumns, type FixRow, toFix } from "./fix-row.ts";
import type { selfHealingContract } from "./self-healing.contract.ts";

type Stats = ValueOf<(typeof selfHealingContract)["self-healing.stats"]["result"]>;

/** The catalogue is far smaller. */
const fixesMax = 500;

/** All fixes that are not deleted. */
export async function listFixes(call: Call<unknown>): Promise<{ items: Fix[]; total: number }> {
  const rows = await call.db.read<FixRow>(platform, {
    name: "self-healing.fixes",
    text: `select ${fixColumns} from fixes f where deleted_at is null order by id limit ${fixesMax}`,
    values: [],
  });
  return { items: rows.map(toFix), total: rows.length };
}

interface Counted extends Omit<Stats, "by_status" | "success_rate"> {
  proposed: number;
  confirmed: number;
  suspended: number;
}

/** Answers `self-healing.stats`, over incidents of the last 90 days. */
export async function readStats(call: Call<unknown>): Promise<Stats> {
  const row = await call.db.readOne<Counted>(platform, {
    name: "self-healing.stats",
    text: `select f.*, i.*, (select max(looked_at) from fault_looks) as looked_at from
      (select count(*)::integer as fixes, count(*) filter (where status = 'proposed')::integer as proposed,
          count(*) filter (where status = 'confirmed')::integer as confirmed,
          count(*) filter (where status = 'suspended')::integer as suspended
        from fixes where deleted_at is null) f,
      (select count(*)::integer as incidents, count(*) filter (where status in ('open', 'healing'))::integer as open,
          count(*) filter (where status = 'healed')::integer as healed,
          count(*) filter (where status = 'failed')::integer as failed,
          count(*) filter (where status = 'ended')::integer as ended,
          round(avg(extract(epoch from ended_at - detected_at)) filter (where status = 'healed'), 3)::float8
            as mean_time_to_repair_s
        from incidents) i`,
    values: [],
  });
  if (row === undefined) throw new Error("counting answers a row");
  const { proposed, confirmed, suspended, fixes, incidents, open, healed, failed } = row;
  return {
    fixes,
    by_status: { proposed, confirmed, suspended },
    incidents,
    open,
    healed,
    failed,
    success_rate: healed + failed === 0 ? null : healed / (healed + failed),
    mean_time_to_repair_s: row.mean_time_to_repair_s,
    ended: row.ended,
    looked_at: row.looked_at === null ? null : toIso(row.looked_at),
  };
}
