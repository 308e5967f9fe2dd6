// Creates the users that must exist after a start: the first superadmin and the users of the demo.
import type { Call, ResultOf } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { insertUser, vouchedFor } from "./create-user.ts";
import type { usersContract } from "./users.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

type Contract = (typeof usersContract)["users.bootstrap"];
type Bootstrap = Call<ParamsOf<Contract>>;

type ExistingUser = RowOf<"users", "id" | "session_epoch">;

/**
 * Idempotent. An existing account with this e-mail address stays unchanged, also when it is blocked.
 * Exception: when one of the passwords in `instead_of` is its current password, it gets the given one.
 */
export async function bootstrapUser(call: Bootstrap): Promise<ResultOf<Contract>> {
  const { params } = call;
  const { tenant_id: tenantId } = params;
  const found = await call.db.readOne<ExistingUser>(platform, {
    text: `select id, session_epoch from users where tenant_id = $1 and lower(email) = lower($2)
      and deleted_at is null`,
    values: [tenantId, params.email],
  });
  if (found !== undefined) {
    const replaced = (await hasReplaceablePassword(call, found)) && (await replacePassword(call, found));
    return { id: found.id, created: false, replaced };
  }
  const passwordHash = await call.runtime.hasher.hash(params.password);
  const row = await call.db.change(platform, call.caller, (change) =>
    insertUser(change, "user.create", vouchedFor(params, tenantId, passwordHash)),
  );
  return { id: row.id, created: true, replaced: false };
}

async function hasReplaceablePassword(call: Bootstrap, { id: userId }: ExistingUser): Promise<boolean> {
  const { tenant_id: tenantId, password: wanted, instead_of: formers } = call.params;
  for (const former of formers) {
    if (former === wanted) continue;
    const asked = { tenant_id: tenantId, user_id: userId, password: former };
    if ((await call.bus("auth.check_password", asked)).is_right) return true;
  }
  return false;
}

/**
 * Replaces the password and ends every session. If the password was changed meanwhile, the epoch was raised
 * and that change stays.
 */
async function replacePassword(
  call: Bootstrap,
  { id, session_epoch: epoch }: ExistingUser,
): Promise<boolean> {
  const { tenant_id: tenantId, password } = call.params;
  const hash = await call.runtime.hasher.hash(password);
  return call.db.change(platform, call.caller, async (change) => {
    const replaced = await change.execute(
      `update users set password_hash = $4, session_epoch = session_epoch + 1, updated_at = now()
       where tenant_id = $1 and id = $2 and session_epoch = $3 returning id`,
      [tenantId, id, epoch, hash],
    );
    if (replaced.length > 0)
      change.audit({ tenantId, action: "user.set_password", target: { type: "user", id } });
    return replaced.length > 0;
  });
}
