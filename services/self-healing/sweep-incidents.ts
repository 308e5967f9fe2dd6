// Deletes incidents 90 days after their end, deleted fixes without incidents, and the times of faults that
// this version does not know.
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import { catalogue } from "../../mixins/healing/catalogue.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { system } from "./fix-row.ts";

const batch = 1_000;
const batchesMax = 100;

const sweeps = [
  `delete from incidents where id in (select id from incidents where ended_at < now() - interval '90 days' limit ${batch})`,
  `delete from fixes where id in (select id from fixes f where deleted_at is not null
     and not exists (select from incidents i where i.fix_id = f.id)
     and exists (select from fixes g where g.code = f.code and g.id > f.id) limit ${batch})`,
];

/** The daily job `self-healing.sweep`. */
export async function sweepIncidents(this: { runtime: Runtime }): Promise<void> {
  const { database } = this.runtime;
  for (const sweep of sweeps)
    await inBatches({ rowsMax: batch, batchesMax }, async () => {
      const text = `${sweep} returning 1 as one`;
      return (await database.write(platform, system, { text, values: [] })).length;
    });
  await database.write(platform, system, {
    text: "delete from fault_looks where code <> all($1::text[]) returning code",
    values: [catalogue.map(({ code }) => code)],
  });
}
