// The end of a rotation: destroys the old master key, publishes the event and corrects the count of rows.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { lockMasterKeys } from "./master-keys.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import { retireMasterKeys } from "./retire-keys.ts";
import type { RowOf } from "../shared/database/row.ts";

type Finished = RowOf<"rotations", "master_version" | "previous_version", { rows_done: number }>;

/**
 * @param workerId the id of the worker that holds the lease
 * @returns false when another worker holds the lease, or a tenant is not finished
 */
export function finishRotation(
  { database, log }: Pick<Runtime, "database" | "log">,
  rotationId: number,
  workerId: string,
): Promise<boolean> {
  return database.change(platform, Caller.system("crypto"), async (change) => {
    await lockMasterKeys(change, "exclusive");
    // Rows that were deleted or written meanwhile needed no work, so the total is set to the rows that were
    // resealed.
    const [finished] = await change.execute<Finished>(
      `update rotations set state = 'finished', finished_at = now(), rows_total = rows_done
       where id = $1 and leased_by = $2 and state = 'running'
         and not exists (select from rotation_tenants t where t.rotation_id = rotations.id and t.pass < 3)
       returning master_version, previous_version, rows_done::integer`,
      [rotationId, workerId],
    );
    if (finished === undefined) return false;
    await change.execute("delete from rotation_tenants where rotation_id = $1", [rotationId]);
    const destroyed = await retireMasterKeys(change);
    const tenantId = await platformTenantId(change);
    const facts = {
      key_version: finished.master_version,
      previous_version: finished.previous_version,
      rows_done: finished.rows_done,
    };
    change.audit({
      tenantId,
      action: "encryption.finish_rotation",
      target: { type: "rotation", id: rotationId },
      changes: { ...facts, destroyed_versions: destroyed },
    });
    change.publishEvent({ tenantId, kind: "encryption.rotated", payload: facts });
    log.info(facts, "key rotation finished");
    return true;
  });
}
