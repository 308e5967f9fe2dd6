// The end of notifications: 90 days after they came, far beyond any provider's retries, in batches. What comes again
// later still changes nothing, because the payment itself has taken it in already. So rows stay where no payment
// guards: of a tenant that is gone, and of one that never was, under whose subdomain another may live some day.
// What nobody has signed anybody may have written, and it acts on nothing: it goes after a week.
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
