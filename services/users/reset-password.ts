// Completes a password reset with the token from the mail.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { assertGoodPassword } from "./create-user.ts";
import { endRegistration } from "./registration.ts";
import { ownerOf, takeToken } from "./take-mail-token.ts";

/**
 * Sets the password, verifies the address, ends every session and revokes the account's mail tokens.
 * @throws BadRequest `invalid_token`, Invalid when the password is too weak
 */
export async function resetPassword(
  call: Call<{ token: string; new_password: string }>,
): Promise<{ detail: string }> {
  const { token, new_password: password } = call.params;
  const owner = await ownerOf(call.db, "reset_password", token);
  // Checked before the token is used, so that the user can try again with a stronger password.
  assertGoodPassword("new_password", password, { ...owner, tenant: owner });
  const passwordHash = await call.runtime.hasher.hash(password);
  const { user_id: userId, tenant_id: tenantId } = owner;
  await call.db.change(platform, call.caller, async (change) => {
    await takeToken(change, "reset_password", token, owner);
    // The owner of the mailbox owns the address, so the address counts as verified. A blocked user stays
    // blocked.
    await change.execute(
      `update users set password_hash = $1, session_epoch = session_epoch + 1, email_verified = true, updated_at = now()
       where tenant_id = $2 and id = $3`,
      [passwordHash, tenantId, userId],
    );
    await change.execute("delete from mail_tokens where tenant_id = $1 and user_id = $2", [tenantId, userId]);
    await endRegistration(change, tenantId, userId);
    await change.enqueue("mail.password_changed", { user_id: userId });
    change.audit({ tenantId, action: "user.reset_password", target: { type: "user", id: userId }, userId });
    change.publishEvent({
      tenantId,
      kind: "user.updated",
      payload: { user_id: userId, fields: ["password"] },
    });
  });
  // The failed attempts were made against the former password.
  await call.bus("auth.clear_lockout", { tenant_id: tenantId, user_id: userId });
  await call.bus("auth.remember_origin", { tenant_id: tenantId, user_id: userId });
  return { detail: "The password is changed; sign in with the new one" };
}
