// The end of old keys between two rotations: a field that did not open was written anew, or its row is gone, and nothing
// names its key any more.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { holdMasterKeys } from "./master-keys.ts";
import { endUnnamedKeys, forgetMended, inArchive, retireMasterKeys } from "./retire-keys.ts";
import { letGoSeconds } from "./rotation-times.ts";

const tenantsMax = 1_000;

/** Does nothing while a rotation is under way: it ends the keys itself. */
export async function sweepKeys({ database, log, config }: Runtime): Promise<void> {
  const heldSeconds = letGoSeconds(config);
  const caller = Caller.system("crypto");
  const tenantsOf = async (name: string, text: string, values: unknown[]): Promise<number[]> => {
    const rows = await database.read<{ tenant_id: number }>(platform, { name, text, values });
    return rows.map(({ tenant_id: tenantId }) => tenantId);
  };
  const still = "not exists (select from rotations where state = 'running')";
  const quarantined = await tenantsOf(
    "crypto.quarantined_tenants",
    `select distinct tenant_id from quarantined_fields where ${still} order by tenant_id limit ${tenantsMax}`,
    [],
  );
  for (const tenantId of quarantined)
    await database.change(platform, caller, (change) => forgetMended(change, tenantId));
  const unneeded = await tenantsOf(
    "crypto.swept_tenants",
    `select distinct tenant_id from data_keys k where ${still} and purpose = 'field' and state = 'decrypt_only'
       and demoted_at < now() - make_interval(secs => $1)
       and not exists (select from quarantined_fields q where q.tenant_id = k.tenant_id and q.key_id = k.id)
       and not exists (select from archive_keys a where ${inArchive("k")})
     order by tenant_id limit ${tenantsMax}`,
    [heldSeconds],
  );
  for (const tenantId of unneeded)
    await database.change(platform, caller, (change) => endUnnamedKeys(change, tenantId, heldSeconds));
  // Also where the last of their needs was a backup that is gone.
  const old = await database.read(platform, {
    name: "crypto.old_masters",
    text: "select from master_keys where state = 'decrypt_only' limit 1",
    values: [],
  });
  if (old.length === 0) return;
  await database.change(platform, caller, async (change) => {
    await holdMasterKeys(change, "alone");
    const versions = await retireMasterKeys(change);
    if (versions.length > 0) log.info({ versions }, "master keys that nothing needs are destroyed");
  });
}
