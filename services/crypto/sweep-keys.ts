// Destroys old keys between two rotations: when a field that did not open was written again, or its row was
// deleted, nothing may use its key any more.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { lockMasterKeys } from "./master-keys.ts";
import {
  destroyUnusedKeys,
  clearResolvedQuarantine,
  mayBeInArchiveSql,
  retireMasterKeys,
} from "./retire-keys.ts";
import { keyReleaseSeconds } from "./rotation-times.ts";

const tenantsMax = 1_000;

/** Does nothing while a rotation is running, which destroys the keys itself. */
export async function sweepKeys({ database, log, config }: Runtime): Promise<void> {
  const releaseSeconds = keyReleaseSeconds(config);
  const caller = Caller.system("crypto");
  const tenantsOf = async (name: string, text: string, values: unknown[]): Promise<number[]> => {
    const rows = await database.read<{ tenant_id: number }>(platform, { name, text, values });
    return rows.map(({ tenant_id: tenantId }) => tenantId);
  };
  const noRotation = "not exists (select from rotations where state = 'running')";
  const quarantined = await tenantsOf(
    "crypto.quarantined_tenants",
    `select distinct tenant_id from quarantined_fields where ${noRotation} order by tenant_id limit ${tenantsMax}`,
    [],
  );
  for (const tenantId of quarantined)
    await database.change(platform, caller, (change) => clearResolvedQuarantine(change, tenantId));
  const unneeded = await tenantsOf(
    "crypto.swept_tenants",
    `select distinct tenant_id from data_keys k where ${noRotation} and purpose = 'field' and state = 'decrypt_only'
       and demoted_at < now() - make_interval(secs => $1)
       and not exists (select from quarantined_fields q where q.tenant_id = k.tenant_id and q.key_id = k.id)
       and not exists (select from archive_keys a where ${mayBeInArchiveSql("k")})
     order by tenant_id limit ${tenantsMax}`,
    [releaseSeconds],
  );
  for (const tenantId of unneeded)
    await database.change(platform, caller, (change) => destroyUnusedKeys(change, tenantId, releaseSeconds));
  // Also covers master keys whose last use was a backup that was removed.
  const old = await database.read(platform, {
    name: "crypto.old_masters",
    text: "select from master_keys where state = 'decrypt_only' limit 1",
    values: [],
  });
  if (old.length === 0) return;
  await database.change(platform, caller, async (change) => {
    await lockMasterKeys(change, "exclusive");
    const versions = await retireMasterKeys(change);
    if (versions.length > 0) log.info({ versions }, "master keys that nothing needs are destroyed");
  });
}
