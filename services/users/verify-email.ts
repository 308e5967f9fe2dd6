// Verifies an e-mail address with the token from the mail. The token proves access to the mailbox, but not
// that the same person registered the address: a stranger may have registered it with a password of their
// own, waiting for the owner to confirm. So the password of the registration stays valid only when it is
// given here again, or when this call comes from the same origin as the registration (a program that
// registers and verifies by itself). Otherwise the password becomes invalid.
import type { Call, ResultOf } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Invalid } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { closedHash } from "../shared/passwords/phc.ts";
import type { accountsContract } from "./accounts.contract.ts";
import { assertGoodPassword } from "./create-user.ts";
import { endRegistration, isSameOrigin } from "./registration.ts";
import { ownerOf, takeToken, type TokenOwner } from "./take-mail-token.ts";

type Contract = (typeof accountsContract)["accounts.verify_email"];
type VerifyCall = Call<ParamsOf<Contract>>;

/** What happens to the password of the registration. */
type Outcome = "kept" | "confirmed" | "replaced" | "voided";

const details: Record<Outcome, string> = {
  kept: "The e-mail address is verified",
  confirmed: "The e-mail address is verified",
  replaced: "The e-mail address is verified, and the new password is set",
  voided:
    "The e-mail address is verified. The password of the registration is void, as it was not given here: choose one by a password reset",
};

/** @throws BadRequest `invalid_token`, Invalid when a given password is wrong or too weak */
export async function verifyEmail(call: VerifyCall): Promise<ResultOf<Contract>> {
  const { token } = call.params;
  const owner = await ownerOf(call.db, "verify_email", token);
  // Checked before the token is used, so that the user can try again.
  const { outcome, hash } = await passwordAfter(call, owner);
  const { tenant_id: tenantId, user_id: userId } = owner;
  await call.db.change(platform, call.caller, async (change) => {
    await takeToken(change, "verify_email", token, owner);
    await change.execute(
      "update users set email_verified = true, updated_at = now() where tenant_id = $1 and id = $2",
      [tenantId, userId],
    );
    if (hash !== undefined)
      await change.execute(
        "update users set password_hash = $3, session_epoch = session_epoch + 1 where tenant_id = $1 and id = $2",
        [tenantId, userId, hash],
      );
    await endRegistration(change, tenantId, userId);
    const target = { type: "user", id: userId };
    change.audit({ tenantId, action: "user.verify_email", target, userId, changes: { password: outcome } });
    const fields = ["email_verified", ...(hash === undefined ? [] : ["password"])];
    change.publishEvent({ tenantId, kind: "user.updated", payload: { user_id: userId, fields } });
  });
  await call.bus("auth.remember_origin", { tenant_id: tenantId, user_id: userId });
  return { detail: details[outcome], email_verified: true };
}

async function passwordAfter(
  call: VerifyCall,
  owner: TokenOwner,
): Promise<{ outcome: Outcome; hash?: string }> {
  const { password, new_password: chosen } = call.params;
  if (chosen !== undefined) {
    assertGoodPassword("new_password", chosen, { ...owner, tenant: owner });
    return { outcome: "replaced", hash: await call.runtime.hasher.hash(chosen) };
  }
  if (password !== undefined) {
    const { tenant_id, user_id } = owner;
    const { is_right: isRight } = await call.bus("auth.check_password", { tenant_id, user_id, password });
    if (isRight) return { outcome: "confirmed" };
    throw Invalid.body("password", "this is not the password of the registration");
  }
  if (isSameOrigin(owner.registered_from, call.caller.facts.ip)) return { outcome: "kept" };
  return { outcome: "voided", hash: closedHash() };
}
