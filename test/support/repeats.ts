// Refusals that are counted and not yet an entry, seen and brought to their end by the owner of the database.
import { eventually, type TestService } from "./service.ts";

/** How often the refusals of an action were repeated in a tenant, of each who was refused. */
export async function repeatsOf(service: TestService, tenantId: number, action: string): Promise<number[]> {
  const { rows } = await service.database.owner.query<{ times: number }>(
    "select times from audit_repeats where tenant_id = $1 and action = $2 order by ends_at, times",
    [tenantId, action],
  );
  return rows.map(({ times }) => times);
}

/** Ends the time of all that is counted, and waits until it is summed up. */
export async function endRepeats(service: TestService): Promise<void> {
  const { owner } = service.database;
  await owner.query("update audit_repeats set ends_at = now()");
  await sumUp(service);
  await eventually(async () => {
    const { rows } = await owner.query("select from audit_repeats where ends_at <= now()");
    return rows.length === 0;
  });
}

/** Has the job run that the schedule would start within a minute. */
export async function sumUp({ database: { owner } }: TestService): Promise<void> {
  const { rows } = await owner.query<{ id: string }>(
    "select id from graphile_worker.add_job('audit.sum_up')",
  );
  await eventually(async () => {
    const left = await owner.query("select from graphile_worker.jobs where id = $1", [rows[0]?.id]);
    return left.rows.length === 0;
  });
}
