// Whether the database has every key that rows of an archive are sealed with. It lacks some where a full backup was restored
// that is older than the archive: the exchange would fail at its first such row, with the tenant frozen for nothing.
import type { Bulk } from "../shared/database/bulk.ts";
import { sealedTables } from "../shared/sealing/registry.ts";
import { restoredTables } from "./restore-conditions.ts";

/** The first five bytes of a sealed text name its key; what is asked takes anything longer for one. Each table is read once. */
const heads = restoredTables.flatMap((table) =>
  Object.entries(sealedTables)
    .filter(([name]) => name === table)
    .map(
      ([, { columns }]) => `select substring(sealed from 1 for 5) as head
        from (select unnest(array[${columns.join(", ")}]) as sealed from staging.${table} where staged_for = $1::uuid) texts
        where length(sealed) > 5`,
    ),
);

/** @throws what PostgreSQL raises in `hold_sealing_keys`, which a job's failure calls `keys_unreadable` */
export async function assertKeys(bulk: Bulk, job: string, tenantId: number): Promise<void> {
  // There are a few keys and many rows; as nothing is known of the rows yet, the planner would sort them.
  await bulk.query("select set_config('enable_sort', 'off', true)");
  await bulk.query(
    `select hold_sealing_keys($2, array(select distinct head || '\\x00'::bytea from (${heads.join(" union all ")}) named))`,
    [job, tenantId],
  );
  await bulk.query("select set_config('enable_sort', 'on', true)");
}
