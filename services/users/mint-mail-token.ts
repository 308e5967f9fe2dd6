// Creates the token of a mail at the moment of sending, and finds the recipient.
import type { Call, ResultOf } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import type { accountsContract } from "./accounts.contract.ts";
import type { MailKind } from "./account-limits.ts";
import { newMailToken } from "./mail-token.ts";
import { type OpenLink, slotFor } from "./reset-links.rules.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

const lifeHours: Record<MailKind, number> = { verify_email: 24, reset_password: 1 };
const audits: Record<MailKind, string> = {
  verify_email: "user.send_verification",
  reset_password: "user.send_reset",
};

type Recipient = RowOf<
  "users",
  "full_name",
  { to: Column<"users", "email">; tenant_name: Column<"tenants", "name"> }
>;

type Account = Recipient &
  RowOf<"users", "tenant_id" | "role"> &
  RowOf<"registrations", "ip"> & {
    user_id: Column<"users", "id">;
    department: Column<"departments", "name"> | null;
    /** ISO 8601. Null when no registration waits to be verified. */
    registered_at: string | null;
  };

type Contract = (typeof accountsContract)["accounts.mint_mail_token"];

/**
 * Creates the token for a mail and stores its hash.
 * @returns null when there is no such account, or no reset link may be added
 */
export async function mintMailToken(call: Call<ParamsOf<Contract>>): Promise<ResultOf<Contract>> {
  const { kind, turn, request } = call.params;
  const { token, hash } = newMailToken();
  return call.db.change(platform, call.caller, async (change) => {
    const account = await lockAccount(change, call.params);
    if (account === undefined) return null;
    const {
      user_id: userId,
      tenant_id: tenantId,
      role,
      department,
      registered_at: at,
      ip,
      ...recipient
    } = account;
    const linkRequest = { known: turn === "known", request: request === "" ? null : request };
    const slot =
      kind === "verify_email" ? 1 : slotFor(await openLinks(change, tenantId, userId), linkRequest);
    if (slot === undefined) return null;
    await change.execute(
      `insert into mail_tokens (tenant_id, user_id, kind, slot, token_hash, known, request, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(hours => $8))
       on conflict (tenant_id, user_id, kind, slot) do update
         set token_hash = excluded.token_hash, known = excluded.known, request = excluded.request,
           created_at = now(), expires_at = excluded.expires_at`,
      [tenantId, userId, kind, slot, hash, linkRequest.known, linkRequest.request, lifeHours[kind]],
    );
    change.audit({ tenantId, action: audits[kind], target: { type: "user", id: userId } });
    const registration = at === null ? null : { role, department, registered_at: at, ip };
    return { ...recipient, token, registration };
  });
}

/**
 * Finds the account and locks its row until the transaction ends, so that of two concurrent mails each sees
 * the other's token.
 */
async function lockAccount(
  change: Change,
  { subdomain, email, kind }: ParamsOf<Contract>,
): Promise<Account | undefined> {
  const [account] = await change.execute<Account>(
    `select u.id as user_id, u.tenant_id, u.email as to, u.full_name, t.name as tenant_name, u.role,
       d.name as department, r.ip,
       to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as registered_at
     from users u join tenants t on t.id = u.tenant_id
     left join departments d on d.tenant_id = u.tenant_id and d.id = u.department_id
     left join registrations r on r.tenant_id = u.tenant_id and r.user_id = u.id
     where t.subdomain = lower($1) and t.is_active and t.deleted_at is null
       and lower(u.email) = lower($2) and u.deleted_at is null and ($3 = 'reset_password' or not u.email_verified)
     for no key update of u`,
    [subdomain, email, kind],
  );
  return account;
}

function openLinks(change: Change, tenantId: number, userId: number): Promise<OpenLink[]> {
  return change.execute<RowOf<"mail_tokens", "known" | "request", { slot: number }>>(
    `select slot::integer as slot, known, request from mail_tokens
     where tenant_id = $1 and user_id = $2 and kind = 'reset_password' and expires_at > now()
     order by created_at, slot`,
    [tenantId, userId],
  );
}

/**
 * The recipient of a mail about an account.
 * @returns null when the account or its tenant is deleted or inactive
 */
export async function findRecipient(call: Call<{ user_id: number }>): Promise<Recipient | null> {
  const row = await call.db.readOne<Recipient>(platform, {
    text: `select u.email as to, u.full_name, t.name as tenant_name from users u join tenants t on t.id = u.tenant_id
      where u.id = $1 and u.deleted_at is null and t.deleted_at is null and t.is_active`,
    values: [call.params.user_id],
  });
  return row ?? null;
}
