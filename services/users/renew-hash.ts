// Taking a hash that `auth` made anew of a password that was just right, where it costs more to guess than the one before.
import type { Call } from "../shared/bus/bus.ts";

interface Renewal {
  tenant_id: number;
  user_id: number;
  user_epoch: number;
  new_hash: string;
}

/**
 * The password stays, so no session ends. Whoever sets another one raises the user's epoch (every session ends then), so a
 * password that was changed meanwhile is left alone; and only `auth` may read the hash itself.
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
