// The list of incidents with their evidence and history.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { platform, preparedName } from "../shared/database/scope.ts";
import type { ParamsOf, ValueOf } from "../shared/params/types.ts";
import { offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { incidentShape, selfHealingContract } from "./self-healing.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

type Incident = ValueOf<typeof incidentShape>;
type Params = ParamsOf<(typeof selfHealingContract)["self-healing.incidents"]>;
/** Numbers of 64 bits are read as text; the statement formats the times of the history. */
type Row = (Omit<Incident, "id"> & RowOf<"incidents", "id">) | { id: null };

const historyMax = 50;
const steps = `coalesce((select json_agg(json_build_object('at',
    to_char(s.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'step', s.step, 'facts', s.facts) order by s.id)
  from (select * from incident_steps s where s.incident_id = i.id order by s.id desc limit ${historyMax}) s), '[]')`;

/** One page of incidents, each with at most `historyMax` steps. */
export async function listIncidents(call: Call<Params>): Promise<Page<Incident>> {
  const { page, limit, status, code, fix_id: fixId } = call.params;
  const { values, bind } = binder();
  const filters = [
    ...(status == null ? [] : [`i.status = ${bind(status)}`]),
    ...(code == null ? [] : [`i.code = ${bind(code)}`]),
    ...(fixId == null ? [] : [`i.fix_id = ${bind(fixId)}`]),
  ];
  const where = filters.length === 0 ? "true" : filters.join(" and ");
  const order = call.params.sort_order === "desc" ? "desc" : "asc";
  const sort = call.params.sort_by === "id" ? "" : `i.${call.params.sort_by} ${order}, `;
  const text = `select total.total, p.*, ${steps.replace("i.id", "p.id")} as history
    from (select count(*)::integer as total from incidents i where ${where}) total left join lateral (
      select i.id, i.fix_id, i.code, f.title, i.tenant_id, i.service, i.target, i.status, i.evidence, i.would_do, i.tries,
        case when i.status = 'open' and f.status = 'confirmed' then i.next_try_at end as next_try_at, i.detected_at,
        i.last_seen_at, i.ended_at,
        case when i.status = 'healed' then extract(epoch from i.ended_at - i.detected_at)::float8 end as repair_s
      from incidents i join fixes f on f.id = i.fix_id where ${where}
      order by ${sort}i.id ${order} limit ${bind(limit)} offset ${bind(offsetOf(page, limit))}) p on true`;
  const statement = { name: preparedName(text), text, values };
  const rows = await call.db.read<Row & { total: number }>(platform, statement);
  const items = rows.flatMap(({ total: _total, ...row }) => (row.id === null ? [] : [toIncident(row)]));
  return toPage(items, rows[0]?.total ?? 0, page, limit);
}

function toIncident(row: Omit<Incident, "id"> & { id: string }): Incident {
  return {
    ...row,
    id: Number(row.id),
    next_try_at: isoOrNull(row.next_try_at),
    detected_at: toIso(row.detected_at),
    last_seen_at: toIso(row.last_seen_at),
    ended_at: isoOrNull(row.ended_at),
  };
}

/** The stored time has microseconds; the answer has milliseconds. */
function isoOrNull(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString();
}
