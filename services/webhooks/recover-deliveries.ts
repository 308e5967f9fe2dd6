// The job of `recover`: failed and canceled deliveries since a time become due again, and events that
// happened while the webhook was inactive become deliveries. Pending deliveries stay unchanged, so a second
// recovery adds nothing.
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import { lockFanOut } from "../../mixins/deliveries/fan-out.ts";
import { wakeTarget } from "../../mixins/deliveries/wake-target.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const batch = 1_000;
const batchesMax = 100;

interface RecoverPayload {
  tenant_id: number;
  target_id: number;
  since: string;
}

/** The job `webhooks.recover`. At most `batch` × `batchesMax` deliveries of each kind. */
export async function recoverMissed(this: { runtime: Runtime }, payload: unknown): Promise<void> {
  // The payload is written by resend.ts.
  const asked = payload as RecoverPayload;
  const { database } = this.runtime;
  for (const step of [requeue, createMissing]) {
    await inBatches({ rowsMax: batch, batchesMax }, () =>
      database.change(platform, Caller.system("webhooks"), async (change) => {
        const rows = await step(change, asked);
        if (rows > 0) await wakeTarget(change, { tenantId: asked.tenant_id, targetId: asked.target_id });
        return rows;
      }),
    );
  }
}

async function requeue(
  change: Change,
  { tenant_id: tenantId, target_id: id, since }: RecoverPayload,
): Promise<number> {
  const rows = await change.execute(
    `update deliveries set state = 'pending', cause = 'recover', tries = 0, due_at = clock_timestamp(), finished_at = null
     where id in (select d.id from deliveries d join delivery_targets t on t.tenant_id = d.tenant_id and t.id = d.target_id
         and t.is_active
       where d.tenant_id = $1 and d.target_id = $2 and d.state in ('failed', 'canceled') and d.occurred_at >= $3::timestamptz
       order by d.event_id limit ${batch} for update of d skip locked) returning id`,
    [tenantId, id, since],
  );
  return rows.length;
}

/** Holds the lock of the fan-out, so that an event that it is processing does not count as missed. */
async function createMissing(
  change: Change,
  { tenant_id: tenantId, target_id: id, since }: RecoverPayload,
): Promise<number> {
  await lockFanOut(change, tenantId);
  const made = await change.execute(
    `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, cause, due_at)
     select t.tenant_id, t.id, e.id, t.last_seq + row_number() over (order by e.id), e.kind, e.payload, e.created_at,
       'recover', clock_timestamp()
     from delivery_targets t, lateral (
       select * from events e where e.tenant_id = t.tenant_id and e.created_at >= greatest($1::timestamptz, t.created_at)
         and t.events && array[e.kind, '*']
         and not exists (select from deliveries d
           where d.tenant_id = t.tenant_id and d.target_id = t.id and d.event_id = e.id)
         and not exists (select from fan_out_queue q where q.tenant_id = t.tenant_id and q.event_id = e.id)
       order by e.id limit ${batch}
     ) e where t.tenant_id = $2 and t.id = $3 and t.is_active returning id`,
    [since, tenantId, id],
  );
  if (made.length > 0) await wakeTarget(change, { tenantId, targetId: id }, made.length);
  return made.length;
}
