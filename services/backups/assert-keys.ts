// Checks that the database has every key that rows of an archive are sealed with. Some are missing after a
// full restore of a backup older than the archive. Without this check the exchange of rows would fail with
// the tenant frozen.
import type { Bulk } from "../shared/database/bulk.ts";
import { sealedTables } from "../shared/sealing/registry.ts";
import { restoredTables } from "./restore-conditions.ts";

/**
 * The first five bytes of a ciphertext identify its key; the checking function expects a longer text. Each
 * table is read once.
 */
const heads = restoredTables.flatMap((table) =>
  Object.entries(sealedTables)
    .filter(([name]) => name === table)
    .map(
      ([, { columns }]) => `select substring(sealed from 1 for 5) as head
        from (select unnest(array[${columns.join(", ")}]) as sealed from staging.${table} where staged_for = $1::uuid) texts
        where length(sealed) > 5`,
    ),
);

/** @throws the error that PostgreSQL raises in `hold_sealing_keys`, which becomes `keys_unreadable` */
export async function assertKeys(bulk: Bulk, job: string, tenantId: number): Promise<void> {
  // There are few keys and many rows. Without statistics of the staged rows the planner would sort them.
  await bulk.query("select set_config('enable_sort', 'off', true)");
  await bulk.query(
    `select hold_sealing_keys($2, array(select distinct head || '\\x00'::bytea from (${heads.join(" union all ")}) named))`,
    [job, tenantId],
  );
  await bulk.query("select set_config('enable_sort', 'on', true)");
}
