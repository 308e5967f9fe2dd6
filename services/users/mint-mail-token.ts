// Making the token of a mail at the moment it is sent, and finding whom to send to.
import type { Call } from "../shared/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { mailKinds } from "./accounts.contract.ts";
import { newMailToken } from "./mail-token.ts";

type Kind = (typeof mailKinds)[number];

const lifeHours: Record<Kind, number> = { verify_email: 24, reset_password: 1 };
const audits: Record<Kind, string> = {
  verify_email: "user.send_verification",
  reset_password: "user.send_reset",
};

interface Recipient {
  to: string;
  full_name: string;
  tenant_name: string;
}

export async function mintMailToken(
  call: Call<{ kind: Kind; subdomain: string; email: string }>,
): Promise<(Recipient & { token: string }) | null> {
  const { kind, subdomain, email } = call.params;
  const { token, hash } = newMailToken();
  return call.db.change(platform, call.caller, async (change) => {
    const [account] = await change.execute<Recipient & { user_id: number; tenant_id: number }>(
      `select u.id as user_id, u.tenant_id, u.email as to, u.full_name, t.name as tenant_name
       from users u join tenants t on t.id = u.tenant_id
       where t.subdomain = lower($1) and t.is_active and t.deleted_at is null
         and lower(u.email) = lower($2) and u.deleted_at is null and ($3 = 'reset_password' or not u.email_verified)`,
      [subdomain, email, kind],
    );
    if (account === undefined) return null;
    const { user_id: userId, tenant_id: tenantId, ...recipient } = account;
    await change.execute(
      `insert into mail_tokens (tenant_id, user_id, kind, token_hash, expires_at)
       values ($1, $2, $3, $4, now() + make_interval(hours => $5))
       on conflict (tenant_id, user_id, kind) do update
         set token_hash = excluded.token_hash, created_at = now(), expires_at = excluded.expires_at`,
      [tenantId, userId, kind, hash, lifeHours[kind]],
    );
    change.audit({ tenantId, action: audits[kind], target: { type: "user", id: userId } });
    return { ...recipient, token };
  });
}

export async function findRecipient(call: Call<{ user_id: number }>): Promise<Recipient | null> {
  const row = await call.db.readOne<Recipient>(platform, {
    text: `select u.email as to, u.full_name, t.name as tenant_name from users u join tenants t on t.id = u.tenant_id
      where u.id = $1 and u.deleted_at is null and t.deleted_at is null and t.is_active`,
    values: [call.params.user_id],
  });
  return row ?? null;
}
