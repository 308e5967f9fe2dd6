// Reads the data of a sign-in in one statement that costs the same whether tenant and account exist or not.
// Failed sign-ins of unknown tenants are counted and audited in the platform tenant.
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import type { Role } from "../shared/roles.ts";
import type { Slots } from "./slots.ts";
import type { Column } from "../shared/database/row.ts";

/** The account's data that a sign-in needs. */
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

/** The tenant, the account and its counts at the time of a sign-in. */
export interface SignInFacts {
  /** The tenant's id, or the platform tenant's id when there is no such tenant. */
  tenantId: number;
  platformId: number;
  account: Account | undefined;
  /** Whether the account has any failure count. */
  isCounted: boolean;
  /** Number of the account's sessions, including ended ones that are not deleted yet. */
  sessions: number;
  /** When the account last signed in from this address. */
  addressSeen: "today" | "before" | "never";
  nowMs: number;
}

type Row = {
  tenant_id: number;
  platform_id: Column<"tenants", "id">;
  counted: boolean;
  sessions: number;
  seen_today: boolean | null;
  now_ms: number;
} & (Account | { user_id: null });

const unknownAccountSlots = 1_024;

/** The key in `lockouts` of an account that does not exist: one of 1024 per tenant, whatever was typed. */
export function unknownAccountKey(slots: Slots, { subdomain, email }: TypedAccount): string {
  return `ghost:${slots.of("ghost", `${subdomain}|${email}`, unknownAccountSlots)}`;
}

/** The key in `lockouts` of an account. */
export const accountKey = (userId: number) => `user:${userId}`;

/** The account that was typed. */
export interface TypedAccount {
  /** In lower case. */
  subdomain: string;
  /** As typed. The database converts it to lower case, with the same function as when it was stored. */
  email: string;
}

/**
 * @param address as `addressKey` returns it
 * @param unknownKey the key in `lockouts` to use if there is no such account
 */
export async function readSignIn(
  database: Database,
  { subdomain, email }: TypedAccount,
  address: string,
  unknownKey: string,
): Promise<SignInFacts> {
  const row = await database.readOne<Row>(platform, {
    name: "auth.sign_in",
    text: `select coalesce(t.id, p.id) as tenant_id, p.id as platform_id,
        a.user_id, a.role, a.password_hash, a.is_active, a.approved, a.email_verified, a.user_epoch, a.tenant_epoch,
        (select count(*)::integer from sessions s where s.tenant_id = a.tenant_id and s.user_id = a.user_id) as sessions,
        l.account is not null as counted, o.seen_at > now() - interval '1 day' as seen_today,
        (extract(epoch from now()) * 1000)::float8 as now_ms
      from tenants p
      left join tenants t on t.subdomain = $1 and t.deleted_at is null and t.is_active
      left join sign_in_accounts a on a.tenant_id = t.id and a.email_key = lower($2)
      left join known_origins o on o.tenant_id = a.tenant_id and o.user_id = a.user_id and o.address = $3
        and o.seen_at > now() - interval '90 days'
      left join lockouts l on l.tenant_id = coalesce(t.id, p.id) and l.account = coalesce('user:' || a.user_id, $4)
      where p.subdomain = 'platform' and p.deleted_at is null`,
    values: [subdomain, email, address, unknownKey],
  });
  if (row === undefined) throw new Error("the platform tenant is missing");
  return {
    tenantId: row.tenant_id,
    platformId: row.platform_id,
    account: row.user_id === null ? undefined : row,
    isCounted: row.counted,
    sessions: row.sessions,
    addressSeen: row.seen_today === null ? "never" : row.seen_today ? "today" : "before",
    nowMs: row.now_ms,
  };
}
