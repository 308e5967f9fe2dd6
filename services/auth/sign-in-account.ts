// What a sign-in needs to know, in one statement that costs the same whether tenant and account exist or not. Failed
// sign-ins of unknown tenants are counted and audited in the platform's books.
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { afterFailure, type LockoutState } from "../shared/lockout.rules.ts";
import type { Role } from "../shared/roles.ts";

export interface Account {
  user_id: number;
  role: Role;
  password_hash: string;
  is_active: boolean;
  approved: boolean;
  email_verified: boolean;
  user_epoch: number;
  tenant_epoch: number;
}

export interface SignInFacts {
  /** The tenant, or the platform's id when there is no such tenant. */
  tenantId: number;
  /** Under which name failures are counted. */
  lockoutKey: string;
  lockout: LockoutState | null;
  nowMs: number;
  account: Account | undefined;
}

type Row = {
  tenant_id: number;
  tenant_known: boolean;
  email_key: string;
  lockout: LockoutState | null;
  now_ms: number;
} & (Account | { user_id: null });

export function lockoutKeyOf(subdomain: string, email: string, tenantKnown: boolean): string {
  return tenantKnown ? email : `${subdomain}:${email}`;
}

/** @param subdomain lower-case; the database lower-cases the e-mail address, as it did when it was stored */
export async function readSignIn(database: Database, subdomain: string, email: string): Promise<SignInFacts> {
  const row = await database.readOne<Row>(platform, {
    name: "auth.sign_in",
    text: `select coalesce(t.id, p.id) as tenant_id, t.id is not null as tenant_known, lower($2) as email_key,
        a.user_id, a.role, a.password_hash, a.is_active, a.approved, a.email_verified, a.user_epoch, a.tenant_epoch,
        l.state as lockout, (extract(epoch from now()) * 1000)::float8 as now_ms
      from tenants p
      left join tenants t on t.subdomain = $1 and t.deleted_at is null and t.is_active
      left join sign_in_accounts a on a.tenant_id = t.id and a.email_key = lower($2)
      left join lockouts l on l.tenant_id = coalesce(t.id, p.id)
        and l.email = case when t.id is null then $1 || ':' || lower($2) else lower($2) end
      where p.subdomain = 'platform' and p.deleted_at is null`,
    values: [subdomain, email],
  });
  if (row === undefined) throw new Error("the platform tenant is missing");
  return {
    tenantId: row.tenant_id,
    lockoutKey: lockoutKeyOf(subdomain, row.email_key, row.tenant_known),
    lockout: row.lockout,
    nowMs: row.now_ms,
    account: row.user_id === null ? undefined : row,
  };
}

/** Counts a failure under the row's lock, so that replicas that fail at once both count. */
export async function countFailure(change: Change, tenantId: number, lockoutKey: string): Promise<void> {
  const key = [tenantId, lockoutKey];
  await change.execute(
    "insert into lockouts (tenant_id, email, state) values ($1, $2, 'null') on conflict do nothing",
    key,
  );
  const [row] = await change.execute<{ state: LockoutState | null; now_ms: number }>(
    `select state, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms from lockouts
       where tenant_id = $1 and email = $2 for update`,
    key,
  );
  const next = afterFailure(row?.state ?? undefined, row?.now_ms ?? 0);
  await change.execute(
    "update lockouts set state = $1, updated_at = now() where tenant_id = $2 and email = $3",
    [JSON.stringify(next), ...key],
  );
}

/** After the right password. */
export async function forgetFailures(
  database: Database,
  tenantId: number,
  lockoutKey: string,
): Promise<void> {
  await database.write(platform, Caller.system("auth"), {
    name: "auth.forget_failures",
    text: "delete from lockouts where tenant_id = $1 and email = $2",
    values: [tenantId, lockoutKey],
  });
}
