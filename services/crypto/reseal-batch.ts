// One batch of a rotation: reads rows sealed with another key than the tenant's current one, reseals them and
// writes them back. One statement writes rows, quarantine, position and count, so a crash leaves all of a
// batch or nothing. Its commit need not wait for the disk: a batch lost by a crash of the machine is done
// again, and a key is destroyed by a later commit that waits, which makes all earlier commits durable too.
import { Caller } from "../shared/caller.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { resealRows, type Resealed, type SealedRow } from "./reseal-rows.ts";
import { renewLeaseSql } from "./rotation-times.ts";
import { keyIdBytes, usesOtherKeySql, type SealedPlace } from "./sealed-columns.ts";

/** Ids are integers. */
const idMax = 2_147_483_647;

/** The position of a rotation within a tenant. */
export interface Cursor {
  rotationId: number;
  tenantId: number;
  /** The id of the worker: it writes nothing after another worker acquired the lease. */
  workerId: string;
  /** Index of `place` in `sealedPlaces`. */
  placeIndex: number;
  place: SealedPlace;
  afterId: number;
}

/** Bounds of one batch. */
export interface BatchBounds {
  /** Maximum of rows to reseal. */
  rowsMax: number;
  /** Maximum of rows to scan, so that a statement does not take longer when only few rows need resealing. */
  scannedMax: number;
}

/** The result of one batch. */
export interface BatchOutcome {
  /** The id to continue after; undefined at the end of the table. */
  nextAfterId: number | undefined;
  bytes: number;
  rows: number;
  /** False when the lease was lost and nothing was written. */
  hasLease: boolean;
}

/** Reseals the next batch after `cursor.afterId`. */
export async function resealBatch(
  database: Database,
  keys: TenantKeys,
  cursor: Cursor,
  bounds: BatchBounds,
): Promise<BatchOutcome> {
  const { rows, edge } = await readBatch(database, keys, cursor, bounds);
  const lastId = rows.at(-1)?.id;
  if (lastId === undefined) return { nextAfterId: edge, bytes: 0, rows: 0, hasLease: true };
  const resealed = await resealRows(keys, cursor.place, rows);
  const held = await writeBatch(database, cursor, lastId, resealed);
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row, cursor.place), 0);
  return {
    nextAfterId: rows.length < bounds.rowsMax ? edge : lastId,
    bytes,
    rows: rows.length,
    hasLease: held,
  };
}

/** `edge` is the id of the last row scanned; undefined when there are no more rows. */
async function readBatch(
  database: Database,
  keys: TenantKeys,
  { tenantId, place, afterId }: Cursor,
  { rowsMax, scannedMax }: BatchBounds,
): Promise<{ rows: SealedRow[]; edge: number | undefined }> {
  const { table, tenant, id, columns } = place;
  const ahead = `from ${table} where ${tenant} = $1 and ${id} > $2`;
  const order = `order by ${tenant}, ${id}`;
  const found = await database.read<{ edge: number | null } & (SealedRow | { id: null })>(platform, {
    name: `crypto.walk_${table}`,
    byIndex: true,
    text: `select edge.edge, r.* from (select (select ${id} ${ahead} ${order} offset $5 limit 1) as edge) edge
      left join lateral (select ${id} as id, xmin::text as row_version, ${columns.join(", ")} ${ahead}
        and ${id} <= coalesce(edge.edge, ${idMax}) and (${usesOtherKeySql(place, "$3::bytea")}) ${order} limit $4) r on true`,
    values: [tenantId, afterId, keyIdBytes(keys.fieldKeyId), rowsMax, scannedMax],
  });
  const rows = found.flatMap((row) => (row.id === null ? [] : [row]));
  return { rows, edge: found[0]?.edge ?? undefined };
}

/**
 * Compare and swap: xmin, the transaction that wrote the current version of a row, changes with every write.
 * A row that was written meanwhile is skipped.
 */
async function writeBatch(
  database: Database,
  { rotationId, tenantId, workerId, placeIndex, place }: Cursor,
  lastId: number,
  { rows, broken }: Resealed,
): Promise<boolean> {
  const { columns, table, id, tenant } = place;
  const values = [
    tenantId,
    rotationId,
    workerId,
    lastId,
    rows.map((row) => row.id),
    rows.map((row) => row.rowVersion),
    table,
    broken.map((field) => field.rowId),
    broken.map((field) => field.column),
    broken.map((field) => field.keyId),
    broken.map((field) => field.reason),
    placeIndex,
    ...columns.map((_, at) => rows.map((row) => row.fields[at] ?? null)),
  ];
  const arrays = columns.map((_, at) => `$${13 + at}::bytea[]`).join(", ");
  const [written] = await database.write<{ held: boolean }>(platform, Caller.system("crypto"), {
    name: `crypto.reseal_${table}`,
    text: `with held as (
        select id from rotations where id = $2 and leased_by = $3::uuid and state = 'running' for update
      ), given as (
        select * from unnest($5::integer[], $6::text[], ${arrays}) as g (id, row_version, ${columns.join(", ")})
      ), done as (
        update ${table} t set ${columns.map((column) => `${column} = g.${column}`).join(", ")} from given g
        where t.${tenant} = $1 and t.${id} = g.id and t.xmin::text = g.row_version and exists (select from held)
        returning t.${id}
      ), faults as (
        insert into quarantined_fields (tenant_id, table_name, row_id, column_name, key_id, reason, rotation_id)
        select $1, $7, f.*, $2 from unnest($8::integer[], $9::text[], $10::bigint[], $11::text[]) f, held
        on conflict (tenant_id, table_name, row_id, column_name) do update
          set key_id = excluded.key_id, reason = excluded.reason, rotation_id = excluded.rotation_id, found_at = now()
      ), moved as (
        update rotation_tenants set place = $12, after_id = $4 where rotation_id = $2 and tenant_id = $1 and exists (select from held)
      ), counted as (
        update rotations set rows_done = rows_done + (select count(*) from done),
          ${renewLeaseSql} where id in (select id from held)
      ) select exists (select from held) as held, set_config('synchronous_commit', 'off', true)`,
    values,
  });
  return written?.held === true;
}

function bytesOf(row: SealedRow, { columns }: SealedPlace): number {
  return columns.reduce((sum, column) => sum + (row[column]?.length ?? 0), 0);
}
