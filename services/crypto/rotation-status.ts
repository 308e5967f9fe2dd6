// The status of the last rotation and of the keys.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { toIso } from "../shared/wire.ts";
import type { cryptoContract } from "./crypto.contract.ts";
import { keyReleaseSeconds } from "./rotation-times.ts";

type Status = ValueOf<(typeof cryptoContract)["crypto.status"]["result"]>;

const quarantinedShown = 20;

interface Row {
  key_version: number;
  keys: Status["keys"];
  quarantined_count: number;
  quarantined: Status["quarantined"]["first"] | null;
  id: number | null;
  previous_version: number;
  state: "running" | "finished";
  rewrapped: number;
  rows_total: number;
  rows_done: number;
  tenants_total: number;
  tenants_left: number;
  started_at: string;
  finished_at: string | null;
  walked_seconds: number;
  /** Seconds until no process holds the old keys in memory any more. */
  held_seconds: number | null;
}

const statusStatement = (releaseSeconds: number) => ({
  name: "crypto.status",
  text: `select m.version as key_version, keys.keys, q.count as quarantined_count, q.first as quarantined,
      r.id, r.previous_version, r.state, r.rewrapped, r.rows_total::float8, r.rows_done::float8, r.tenants_total,
      (select count(*)::integer from rotation_tenants t where t.rotation_id = r.id and t.pass < 3) as tenants_left,
      r.started_at, r.finished_at, r.walked_ms::float8 / 1000 as walked_seconds,
      extract(epoch from r.seen_at - now())::float8 + $1 as held_seconds
    from master_keys m
    cross join (select json_build_object(
        'primary', count(*) filter (where state = 'primary'),
        'decrypt_only', count(*) filter (where state = 'decrypt_only'),
        'destroyed', count(*) filter (where state = 'destroyed')) as keys from data_keys) keys
    cross join (select count(*)::integer as count,
      (select json_agg(f) from (select tenant_id, table_name as table, row_id, column_name as column, key_id, reason
        from quarantined_fields order by tenant_id, table_name, row_id, column_name
        limit ${quarantinedShown}) f) as first from quarantined_fields) q
    left join lateral (select * from rotations order by id desc limit 1) r on true
    where m.state = 'primary'`,
  values: [releaseSeconds],
});

/** Answers `crypto.status`; `rotation` is null before the first rotation. */
export async function rotationStatus(call: Call<unknown>): Promise<Status> {
  const releaseSeconds = keyReleaseSeconds(call.runtime.config);
  const row = await call.db.readOne<Row>(platform, statusStatement(releaseSeconds));
  if (row === undefined) throw new Error("there is no primary master key");
  const { key_version, keys } = row;
  const quarantined = { count: row.quarantined_count, first: row.quarantined ?? [] };
  return { key_version, rotation: row.id === null ? null : toRotation(row), keys, quarantined };
}

function toRotation(row: Row): Status["rotation"] {
  const rate = row.walked_seconds > 0 ? row.rows_done / row.walked_seconds : 0;
  return {
    job_id: String(row.id),
    status: row.state,
    key_version: row.key_version,
    previous_version: row.previous_version,
    rewrapped: row.rewrapped,
    rows_total: row.rows_total,
    rows_done: row.rows_done,
    rows_per_second: Math.round(rate),
    eta_seconds: row.state === "finished" ? null : etaOf(row, rate),
    tenants_total: row.tenants_total,
    tenants_done: row.tenants_total - row.tenants_left,
    started_at: toIso(row.started_at),
    finished_at: row.finished_at === null ? null : toIso(row.finished_at),
  };
}

/**
 * The rotation ends when both the resealing and the time for which processes may hold the old keys are over.
 */
function etaOf({ rows_total: total, rows_done: done, held_seconds: held }: Row, rate: number): number | null {
  const left = Math.max(0, total - done);
  if (held === null || (left > 0 && rate === 0)) return null;
  return Math.ceil(Math.max(0, held, left === 0 ? 0 : left / rate));
}
