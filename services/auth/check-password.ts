// Checks a password for other services, because only this service may read hashes. Failures are not counted:
// the caller holds a token from the account's mailbox, which permits more than the password does, or it is
// the start of the service.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { dummyHash } from "../shared/passwords/phc.ts";
import type { RowOf } from "../shared/database/row.ts";

type PasswordCheck = Call<{ tenant_id: number; user_id: number; password: string }>;

/** Compares with a dummy hash when there is no such account, so that the time is the same. */
export async function checkPassword(call: PasswordCheck): Promise<{ is_right: boolean }> {
  const { tenant_id: tenantId, user_id: userId, password } = call.params;
  const row = await call.db.readOne<RowOf<"users", "password_hash">>(platform, {
    name: "auth.check_password",
    text: "select password_hash from users where tenant_id = $1 and id = $2 and deleted_at is null",
    values: [tenantId, userId],
  });
  const isRight = await call.runtime.hasher.verify(row?.password_hash ?? dummyHash(), password);
  return { is_right: isRight };
}
