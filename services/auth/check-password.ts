// Whether a password is an account's, for other services: this is the one that may read hashes. It counts no failures: who
// asks holds a token from the account's mailbox, which opens more than the password, or is the start of the service.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { dummyHash } from "../shared/passwords/phc.ts";

type Asked = Call<{ tenant_id: number; user_id: number; password: string }>;

export async function checkPassword(call: Asked): Promise<{ is_right: boolean }> {
  const { tenant_id: tenantId, user_id: userId, password } = call.params;
  const row = await call.db.readOne<{ password_hash: string }>(platform, {
    name: "auth.check_password",
    text: "select password_hash from users where tenant_id = $1 and id = $2 and deleted_at is null",
    values: [tenantId, userId],
  });
  const isRight = await call.runtime.hasher.verify(row?.password_hash ?? dummyHash(), password);
  return { is_right: isRight };
}
