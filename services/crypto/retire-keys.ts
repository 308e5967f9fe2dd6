// Finds out what still needs a key, and destroys keys that nothing needs. Rows need the data key they are
// sealed with, data keys need the master key they are wrapped by, and backups may need both.
import type { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { keyIdBytes, usesKeySql, sealedPlaces } from "./sealed-columns.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Timeout of a statement that scans all rows of a tenant. */
const countMsMax = 600_000;

/** What needs a data key. */
export interface KeyNeeds {
  /** Number of rows sealed with the key, by table. */
  rows: Record<string, number>;
  /** Number of backups that may contain rows sealed with the key. */
  backups: number;
  /** Those of the rows that have a field which does not open, so resealing cannot free the key. */
  quarantined: number;
}

/** @returns what needs the data key now */
export async function needsOf(change: Change, tenantId: number, keyId: number): Promise<KeyNeeds> {
  const rows: Record<string, number> = {};
  const bytes = keyIdBytes(keyId).toString("hex");
  for (const place of sealedPlaces) {
    const counted = await change.one<{ rows: number }>(
      `select count(*)::integer as rows from ${place.table}
       where ${place.tenant} = $1 and (${usesKeySql(place, `'\\x${bytes}'::bytea`)})`,
      [tenantId],
    );
    rows[place.table] = counted.rows;
  }
  const stuck = await change.one<{ rows: number }>(
    `select count(distinct (table_name, row_id))::integer as rows from quarantined_fields
     where tenant_id = $1 and key_id = $2`,
    [tenantId, keyId],
  );
  const kept = await change.one<{ backups: number }>(
    `select count(*)::integer as backups from data_keys k join archive_keys a on ${mayBeInArchiveSql("k")} where k.id = $1`,
    [keyId],
  );
  return { rows, backups: kept.backups, quarantined: stuck.rows };
}

/**
 * SQL condition: the archive may contain the key. An archive may contain data of every key that existed when
 * the archive was closed. Recording the keys that it really contains would need a list per backup and tenant.
 * @param key the alias of data_keys in the statement; the alias of archive_keys must be `a`
 */
export const mayBeInArchiveSql = (key: string): string =>
  `((a.tenant_id is null or a.tenant_id = ${key}.tenant_id) and (a.closed_at is null or a.closed_at >= ${key}.created_at))`;

/** Whether a row or a backup needs the key. */
export const isNeeded = ({ rows, backups }: KeyNeeds): boolean =>
  backups > 0 || Object.values(rows).some((count) => count > 0);

const totalRows = ({ rows }: KeyNeeds): number => Object.values(rows).reduce((sum, count) => sum + count, 0);

/**
 * Destroys the tenant's keys that stopped sealing at least `heldSeconds` ago and that no row uses.
 * @returns false when rows that can be resealed still use one
 */
export function retireDataKeys(
  database: Database,
  caller: Caller,
  tenantId: number,
  releaseSeconds: number,
): Promise<boolean> {
  return database.change(platform, caller, async (change) => {
    for (const id of await destroyUnusedKeys(change, tenantId, releaseSeconds))
      if (await hasResealableRows(change, tenantId, id)) return false;
    return true;
  });
}

/** Destroys the old keys that neither a row nor a backup needs. @returns the old keys that rows still use */
export async function destroyUnusedKeys(
  change: Change,
  tenantId: number,
  releaseSeconds: number,
): Promise<number[]> {
  // The caller renews its lease meanwhile, so a tenant with millions of rows may take this long.
  await change.execute(`select set_config('statement_timeout', '${countMsMax}', true)`);
  // Locks the keys exclusively: a transaction that writes a row under a key holds a shared lock on it.
  const old = await change.execute<{ id: number; archived: boolean }>(
    `select id, exists (select from archive_keys a where ${mayBeInArchiveSql("k")}) as archived from data_keys k where tenant_id = $1 and purpose = 'field' and state = 'decrypt_only'
       and demoted_at < now() - make_interval(secs => $2) order by id for update of k`,
    [tenantId, releaseSeconds],
  );
  await clearResolvedQuarantine(change, tenantId);
  const used: number[] = [];
  for (const { id, archived } of old) {
    if (await isUsed(change, tenantId, id)) used.push(id);
    else if (!archived) await destroyDataKey(change, tenantId, id);
  }
  return used;
}

/** Stops at the first row. */
async function isUsed(change: Change, tenantId: number, keyId: number): Promise<boolean> {
  const bytes = keyIdBytes(keyId).toString("hex");
  for (const place of sealedPlaces) {
    const [row] = await change.execute(
      `select from ${place.table} where ${place.tenant} = $1 and (${usesKeySql(place, `'\\x${bytes}'::bytea`)}) limit 1`,
      [tenantId],
    );
    if (row !== undefined) return true;
  }
  return false;
}

/** Whether more rows use the key than are in quarantine. */
async function hasResealableRows(change: Change, tenantId: number, keyId: number): Promise<boolean> {
  const needs = await needsOf(change, tenantId, keyId);
  return totalRows(needs) > needs.quarantined;
}

/** Removes fields from quarantine that were written again or whose row was deleted. */
export async function clearResolvedQuarantine(change: Change, tenantId: number): Promise<void> {
  const some = await change.execute("select from quarantined_fields where tenant_id = $1 limit 1", [
    tenantId,
  ]);
  if (some.length === 0) return;
  for (const { table, tenant, id, columns } of sealedPlaces) {
    for (const column of columns) {
      await change.execute(
        `delete from quarantined_fields q where q.tenant_id = $1 and q.table_name = $2 and q.column_name = $3
           and not exists (select from ${table} t where t.${tenant} = q.tenant_id and t.${id} = q.row_id
             and case when q.key_id is null then length(t.${column}) < 5
               else substring(t.${column} from 2 for 4) = substring(int8send(q.key_id) from 5) end)`,
        [tenantId, table, column],
      );
    }
  }
}

/** Destroys a data key. The caller must have checked in the same transaction that nothing needs it. */
export async function destroyDataKey(change: Change, tenantId: number, id: number): Promise<void> {
  await change.execute("update data_keys set state = 'destroyed', wrapped = null where id = $1", [id]);
  change.audit({ tenantId, action: "encryption.destroy_key", target: { type: "data_key", id } });
}

/** Destroys the master keys that wrap no data key and that no backup needs. @returns their versions */
export async function retireMasterKeys(change: Change): Promise<number[]> {
  const destroyed = await change.execute<RowOf<"master_keys", "version">>(
    `update master_keys m set state = 'destroyed', wrapped = null, destroyed_at = now()
     where state = 'decrypt_only'
       and not exists (select from data_keys d where d.master_version = m.version and d.state <> 'destroyed')
       -- A full one also holds data keys as they were wrapped then.
       and not exists (select from archive_keys a where a.master_version = m.version
         or (a.tenant_id is null and (a.closed_at is null or a.closed_at >= m.created_at)))
     returning version`,
  );
  return destroyed.map((row) => row.version);
}
