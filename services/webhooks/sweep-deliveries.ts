// Deletes deliveries with their attempts, and events, after 90 days; and all rows of targets that were
// deleted or whose tenant is about to be purged. Works in batches, so that no statement grows with the log.
import { Caller } from "../shared/caller.ts";
import { databaseMs } from "../shared/database/clock.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { RowOf } from "../shared/database/row.ts";

const caller = Caller.system("webhooks");
const logDays = 90;
const batch = 2_000;
const batchesMax = 5_000;
const targetsMax = 1_000;
const targetRoundsMax = 100;

/** The daily job `webhooks.sweep`. */
export async function sweepDeliveries(this: { runtime: Runtime }): Promise<void> {
  const { database, config } = this.runtime;
  const firstKept = firstIdOf((await databaseMs(database)) - logDays * 86_400_000);
  await sweep(database, "webhooks.sweep_log", oldLog, [firstKept]);
  await sweep(database, "webhooks.sweep_attempts", oldAttempts, [firstKept]);
  await sweep(database, "webhooks.sweep_events", oldEvents, []);
  await inBatches({ rowsMax: targetsMax, batchesMax: targetRoundsMax }, () =>
    dropTargets(database, config.retentionDays),
  );
}

/** @returns the number of targets */
async function dropTargets(database: Database, retentionDays: number): Promise<number> {
  const targets = await database.read<RowOf<"delivery_targets", "id">>(platform, {
    name: "webhooks.dead_targets",
    text: `select t.id from delivery_targets t join tenants n on n.id = t.tenant_id
      where t.deleted_at is not null or n.deleted_at < now() - make_interval(days => greatest($1 - 1, 0))
      order by t.id limit ${targetsMax}`,
    values: [retentionDays],
  });
  for (const { id } of targets) {
    await sweep(database, "webhooks.sweep_target", deliveriesOf, [id]);
    const text = "delete from delivery_targets where id = $1";
    await database.write(platform, caller, { name: "webhooks.drop_target", text, values: [id] });
  }
  return targets.length;
}

/** An attempt that was running meanwhile may add a row afterwards; it is deleted by its age. */
const withAttempts = (
  which: string,
) => `with gone as (delete from deliveries where id in (${which}) returning id),
  attempts as (delete from delivery_attempts a using gone where a.delivery_id = gone.id)
  select id from gone`;
const oldLog = withAttempts(
  `select id from deliveries where id < $1::uuid order by id limit ${batch} for update skip locked`,
);
const oldAttempts = `delete from delivery_attempts where (delivery_id, id) in (select delivery_id, id
  from delivery_attempts where delivery_id < $1::uuid order by delivery_id, id limit ${batch}) returning id`;
const oldEvents = `delete from events where id in (select id from events
  where created_at < now() - interval '${logDays} days' order by created_at limit ${batch}) returning id`;
const deliveriesOf = withAttempts(`select d.id from deliveries d
  join delivery_targets t on t.tenant_id = d.tenant_id and t.id = d.target_id
  where t.id = $1 limit ${batch} for update of d skip locked`);

function sweep(database: Database, name: string, text: string, values: readonly unknown[]): Promise<void> {
  return inBatches(
    { rowsMax: batch, batchesMax },
    async () => (await database.write(platform, caller, { name, text, values })).length,
  );
}

/** The smallest id that a delivery created at this time may have: see time_ordered_id() in the migration. */
function firstIdOf(atMs: number): string {
  const hex = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
