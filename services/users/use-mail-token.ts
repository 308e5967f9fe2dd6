// Using the token from a mail. Wrong, used and expired ones are answered alike.
import type { Call } from "../shared/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { BadRequest } from "../shared/errors.ts";
import type { mailKinds } from "./accounts.contract.ts";
import { assertGoodPassword } from "./create-user.ts";
import { hashMailToken } from "./mail-token.ts";

type Kind = (typeof mailKinds)[number];

const invalidToken = () => new BadRequest("invalid_token", "The token is invalid or expired");

interface Owner {
  user_id: number;
  tenant_id: number;
}

/** Deleting the row is what uses the token: of many who try at once, one gets it. */
async function take(change: Change, kind: Kind, token: string): Promise<Owner> {
  const [owner] = await change.execute<Owner>(
    `delete from mail_tokens m using users u, tenants t
     where m.token_hash = $1 and m.kind = $2 and m.expires_at > now()
       and u.tenant_id = m.tenant_id and u.id = m.user_id and u.deleted_at is null
       and t.id = m.tenant_id and t.is_active and t.deleted_at is null
     returning m.user_id, m.tenant_id`,
    [hashMailToken(token), kind],
  );
  if (owner === undefined) throw invalidToken();
  return owner;
}

export async function verifyEmail(
  call: Call<{ token: string }>,
): Promise<{ detail: string; email_verified: boolean }> {
  await call.db.change(platform, call.caller, async (change) => {
    const { user_id: userId, tenant_id: tenantId } = await take(change, "verify_email", call.params.token);
    await change.execute(
      "update users set email_verified = true, updated_at = now() where tenant_id = $1 and id = $2",
      [tenantId, userId],
    );
    change.audit({ tenantId, action: "user.verify_email", target: { type: "user", id: userId }, userId });
    change.tell({ tenantId, kind: "user.updated", payload: { user_id: userId, fields: ["email_verified"] } });
  });
  return { detail: "The e-mail address is verified", email_verified: true };
}

interface Account {
  email: string;
  full_name: string;
  tenant_id: number;
  name: string;
  subdomain: string;
}

export async function resetPassword(
  call: Call<{ token: string; new_password: string }>,
): Promise<{ detail: string }> {
  const { token, new_password: password } = call.params;
  const account = await call.db.readOne<Account>(platform, {
    text: `select u.email, u.full_name, t.id as tenant_id, t.name, t.subdomain from mail_tokens m
      join users u on u.tenant_id = m.tenant_id and u.id = m.user_id join tenants t on t.id = m.tenant_id
      where m.token_hash = $1 and m.kind = 'reset_password' and m.expires_at > now()
        and u.deleted_at is null and t.is_active and t.deleted_at is null`,
    values: [hashMailToken(token)],
  });
  if (account === undefined) throw invalidToken();
  // A password that is refused leaves the token usable for a better one.
  assertGoodPassword("new_password", password, { ...account, tenant: account });
  const passwordHash = await call.runtime.hasher.hash(password);
  await call.db.change(platform, call.caller, async (change) => {
    const { user_id: userId, tenant_id: tenantId } = await take(change, "reset_password", token);
    // Whoever reads the mailbox owns the address, so it counts as verified; a block stays a block.
    await change.execute(
      `update users set password_hash = $1, session_epoch = session_epoch + 1, email_verified = true, updated_at = now()
       where tenant_id = $2 and id = $3`,
      [passwordHash, tenantId, userId],
    );
    await change.execute("delete from mail_tokens where tenant_id = $1 and user_id = $2", [tenantId, userId]);
    await change.enqueue("mail.password_changed", { user_id: userId });
    change.audit({ tenantId, action: "user.reset_password", target: { type: "user", id: userId }, userId });
    change.tell({ tenantId, kind: "user.updated", payload: { user_id: userId, fields: ["password"] } });
  });
  await call.bus("auth.clear_lockout", { tenant_id: account.tenant_id, email: account.email });
  return { detail: "The password is changed; sign in with the new one" };
}
