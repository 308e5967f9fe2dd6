// Who still needs a key, and the end of keys that nobody needs. A data key is needed by rows that name it, a master key by
// data keys that are wrapped by it, and both by the backups that may hold something under them.
import type { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { keyIdBytes, names, sealedPlaces } from "./sealed-columns.ts";

/** To look through all rows of a tenant. */
const countMsMax = 600_000;

export interface KeyNeeds {
  /** Rows that name the key, by table. */
  rows: Record<string, number>;
  /** Backups that may hold rows of then that name it. */
  backups: number;
  /** Of these, rows that hold a field which does not open: no walk can free the key of them. */
  quarantined: number;
}

/** @returns what needs the data key, as of now */
export async function needsOf(change: Change, tenantId: number, keyId: number): Promise<KeyNeeds> {
  const rows: Record<string, number> = {};
  const bytes = keyIdBytes(keyId).toString("hex");
  for (const place of sealedPlaces) {
    const counted = await change.one<{ rows: number }>(
      `select count(*)::integer as rows from ${place.table}
       where ${place.tenant} = $1 and (${names(place, `'\\x${bytes}'::bytea`)})`,
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
    `select count(*)::integer as backups from data_keys k join archive_keys a on ${inArchive("k")} where k.id = $1`,
    [keyId],
  );
  return { rows, backups: kept.backups, quarantined: stuck.rows };
}

/**
 * An archive may hold what any key sealed that was there when it was closed and is not destroyed since: to look which
 * ones it really names would keep a list per backup and tenant.
 * @param key the name that the statement gives to data_keys; archive_keys must be `a`
 */
export const inArchive = (key: string): string =>
  `((a.tenant_id is null or a.tenant_id = ${key}.tenant_id) and (a.closed_at is null or a.closed_at >= ${key}.created_at))`;

export const isNeeded = ({ rows, backups }: KeyNeeds): boolean =>
  backups > 0 || Object.values(rows).some((count) => count > 0);

const total = ({ rows }: KeyNeeds): number => Object.values(rows).reduce((sum, count) => sum + count, 0);

/**
 * Destroys the tenant's keys that stopped sealing `heldSeconds` ago and that no row names.
 * @returns false when rows that could be walked still name one
 */
export function retireDataKeys(
  database: Database,
  caller: Caller,
  tenantId: number,
  heldSeconds: number,
): Promise<boolean> {
  return database.change(platform, caller, async (change) => {
    for (const id of await endUnnamedKeys(change, tenantId, heldSeconds))
      if (await isWalkable(change, tenantId, id)) return false;
    return true;
  });
}

/** Destroys what neither a row nor a backup needs. @returns the tenant's old keys that rows still name */
export async function endUnnamedKeys(
  change: Change,
  tenantId: number,
  heldSeconds: number,
): Promise<number[]> {
  // Whoever calls waits for a tenant of millions of rows too, and keeps its lease meanwhile.
  await change.execute(`select set_config('statement_timeout', '${countMsMax}', true)`);
  // Alone with each key: whoever writes a row under it holds it shared until its transaction ends.
  const old = await change.execute<{ id: number; archived: boolean }>(
    `select id, exists (select from archive_keys a where ${inArchive("k")}) as archived from data_keys k where tenant_id = $1 and purpose = 'field' and state = 'decrypt_only'
       and demoted_at < now() - make_interval(secs => $2) order by id for update of k`,
    [tenantId, heldSeconds],
  );
  await forgetMended(change, tenantId);
  const named: number[] = [];
  for (const { id, archived } of old) {
    if (await isNamed(change, tenantId, id)) named.push(id);
    else if (!archived) await destroyDataKey(change, tenantId, id);
  }
  return named;
}

/** Quickly true: it ends with the first row. */
async function isNamed(change: Change, tenantId: number, keyId: number): Promise<boolean> {
  const bytes = keyIdBytes(keyId).toString("hex");
  for (const place of sealedPlaces) {
    const [row] = await change.execute(
      `select from ${place.table} where ${place.tenant} = $1 and (${names(place, `'\\x${bytes}'::bytea`)}) limit 1`,
      [tenantId],
    );
    if (row !== undefined) return true;
  }
  return false;
}

/** Whether more rows name the key than are in quarantine. */
async function isWalkable(change: Change, tenantId: number, keyId: number): Promise<boolean> {
  const needs = await needsOf(change, tenantId, keyId);
  return total(needs) > needs.quarantined;
}

/** A field that was written anew, or whose row is gone, is not in quarantine any more. */
export async function forgetMended(change: Change, tenantId: number): Promise<void> {
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

/** The caller has made sure, in this transaction, that nothing needs it. */
export async function destroyDataKey(change: Change, tenantId: number, id: number): Promise<void> {
  await change.execute("update data_keys set state = 'destroyed', wrapped = null where id = $1", [id]);
  change.audit({ tenantId, action: "encryption.destroy_key", target: { type: "data_key", id } });
}

/** @returns the versions that were destroyed: no data key is wrapped by them any more, and no backup needs them */
export async function retireMasterKeys(change: Change): Promise<number[]> {
  const gone = await change.execute<{ version: number }>(
    `update master_keys m set state = 'destroyed', wrapped = null, destroyed_at = now()
     where state = 'decrypt_only'
       and not exists (select from data_keys d where d.master_version = m.version and d.state <> 'destroyed')
       -- A full one also holds data keys as they were wrapped then.
       and not exists (select from archive_keys a where a.master_version = m.version
         or (a.tenant_id is null and (a.closed_at is null or a.closed_at >= m.created_at)))
     returning version`,
  );
  return gone.map((row) => row.version);
}
