// Uses the token from a mail. Wrong, used and expired tokens get the same answer.
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { BadRequest } from "../shared/errors.ts";
import type { MailKind } from "./account-limits.ts";
import { hashMailToken } from "./mail-token.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

/** The account that a token belongs to. */
export type TokenOwner = RowOf<"users", "tenant_id" | "email" | "full_name"> &
  RowOf<"tenants", "subdomain"> & {
    user_id: Column<"users", "id">;
    /** The tenant's name. */
    name: Column<"tenants", "name">;
    /** The client's address at registration, while the registration waits to be verified. */
    registered_from: Column<"registrations", "ip">;
  };

/** @throws BadRequest `invalid_token` when the token is unknown, used, expired or of another kind */
export async function ownerOf(database: Database, kind: MailKind, token: string): Promise<TokenOwner> {
  const owner = await database.readOne<TokenOwner>(platform, {
    name: "accounts.token_owner",
    text: `select u.id as user_id, u.tenant_id, u.email, u.full_name, t.name, t.subdomain,
        r.ip as registered_from
      from mail_tokens m join users u on u.tenant_id = m.tenant_id and u.id = m.user_id
      join tenants t on t.id = m.tenant_id
      left join registrations r on r.tenant_id = m.tenant_id and r.user_id = m.user_id
      where m.token_hash = $1 and m.kind = $2 and m.expires_at > now()
        and u.deleted_at is null and t.is_active and t.deleted_at is null`,
    values: [hashMailToken(token), kind],
  });
  if (owner === undefined) throw invalidToken();
  return owner;
}

/**
 * Uses the token by deleting its row: of several concurrent attempts only one succeeds.
 * @throws BadRequest `invalid_token` when it was used, or its account was deleted, after `ownerOf` found it
 */
export async function takeToken(
  change: Change,
  kind: MailKind,
  token: string,
  { tenant_id: tenantId, user_id: userId }: TokenOwner,
): Promise<void> {
  // The account is locked before its tokens, in the same order as everywhere, so that no deadlock can occur.
  const held = await change.execute(
    `select u.id from users u join tenants t on t.id = u.tenant_id
     where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null and t.is_active and t.deleted_at is null
     for no key update of u`,
    [tenantId, userId],
  );
  const taken = await change.execute(
    `delete from mail_tokens where token_hash = $1 and kind = $2 and tenant_id = $3 and user_id = $4
       and expires_at > now() returning user_id`,
    [hashMailToken(token), kind, tenantId, userId],
  );
  if (held.length === 0 || taken.length === 0) throw invalidToken();
}

const invalidToken = () => new BadRequest("invalid_token", "The token is invalid or expired");
