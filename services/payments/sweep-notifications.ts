// Deletes notifications 90 days after their arrival, long after any provider's last retry, in batches. A
// repetition after that changes nothing, because the payment already contains it. Notifications without such
// a payment are therefore kept: those of a deleted tenant, and those of an unknown subdomain, which a new
// tenant may use some day. Unsigned notifications may come from anybody and have no effect: they are deleted
// after a week.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const keptDays = 90;
const unsignedKeptDays = 7;
const batch = 5_000;
const batchesMax = 100;

const old = `received_at < now() - make_interval(days => ${keptDays})
  and (state = 'ignored' or exists (select from tenants t where t.id = n.tenant_id))`;
const unsigned = `received_at < now() - make_interval(days => ${unsignedKeptDays}) and state = 'unverified'`;

/** The daily job `payments.sweep`. At most `batch` × `batchesMax` rows of each kind per run. */
export async function sweepNotifications(this: { runtime: Runtime }): Promise<void> {
  for (const which of [unsigned, old]) await sweep(this.runtime, which);
}

async function sweep({ database }: Runtime, which: string): Promise<void> {
  await inBatches({ rowsMax: batch, batchesMax }, async () => {
    const gone = await database.write<{ one: number }>(platform, Caller.system("payments"), {
      text: `delete from payment_notifications where (provider, notification_id) in (
          select provider, notification_id from payment_notifications n where ${which}
          order by received_at limit ${batch})
        returning 1 as one`,
      values: [],
    });
    return gone.length;
  });
}
