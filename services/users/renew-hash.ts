// Stores a stronger hash of an unchanged password. `auth` computes it after a successful sign-in when the
// parameters of the hash were raised.
import type { Call } from "../shared/bus/bus.ts";

interface Renewal {
  tenant_id: number;
  user_id: number;
  user_epoch: number;
  new_hash: string;
}

/**
 * The password stays the same, so no session ends. Setting another password raises the user's epoch, so a
 * password that was changed meanwhile is not overwritten. Only `auth` may read the hash.
 */
export async function renewHash(call: Call<Renewal>): Promise<void> {
  const { tenant_id: tenantId, user_id: userId, user_epoch: epoch, new_hash: fresh } = call.params;
  await call.db.change({ tenantId }, call.caller, async (change) => {
    const renewed = await change.execute(
      "update users set password_hash = $4 where tenant_id = $1 and id = $2 and session_epoch = $3 returning id",
      [tenantId, userId, epoch, fresh],
    );
    if (renewed.length > 0)
      change.audit({ tenantId, action: "user.renew_hash", target: { type: "user", id: userId } });
  });
}
