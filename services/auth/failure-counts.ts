// The stored counts of failed sign-ins. A sign-in locks the account's row and the address's row for the
// length of its transaction, so all replicas decide about guesses one after the other.
import type { Change } from "../shared/database/change.ts";
import type { AccountCounts } from "./lockout.rules.ts";
import type { Tally } from "./tally.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Identifies the two rows. */
export interface CountKeys {
  tenantId: number;
  /** The account's key in `lockouts`. */
  account: string;
  platformId: number;
  /** Counts of addresses apply to all tenants, so they are stored with the platform tenant. */
  addressSlot: number;
}

export interface Counts {
  account: AccountCounts | undefined;
  address: Tally;
}

type Row = RowOf<"lockouts", "account" | "state", { now_ms: number }>;

const addressKeyOf = ({ addressSlot }: CountKeys) => `address:${addressSlot}`;

/**
 * Locks both rows and creates them if they are missing.
 * @returns the current counts; `nowMs` comes from the database's clock, which is the same for all nodes
 */
export async function lockCounts(change: Change, keys: CountKeys): Promise<Counts & { nowMs: number }> {
  // Always the address's row first, so that two sign-ins cannot deadlock. An insert that finds a row locks
  // it, and creates it again if it was deleted in that moment.
  const rows = await change.execute<Row>(
    `insert into lockouts (tenant_id, account, state) values ($1, $2, 'null'), ($3, $4, 'null')
     on conflict (tenant_id, account) do update set updated_at = now()
     returning account, state, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    [keys.platformId, addressKeyOf(keys), keys.tenantId, keys.account],
  );
  const [address, account] = rows;
  return {
    // Only this file writes these values, so the types are known.
    account: (account?.state ?? undefined) as AccountCounts | undefined,
    address: (address?.state ?? []) as Tally,
    nowMs: account?.now_ms ?? 0,
  };
}

/** Writes the locked counts. A row without counts is deleted. */
export async function saveCounts(
  change: Change,
  keys: CountKeys,
  { account, address }: Counts,
): Promise<void> {
  await saveCount(change, keys.platformId, addressKeyOf(keys), address.length === 0 ? undefined : address);
  await saveCount(change, keys.tenantId, keys.account, account);
}

async function saveCount(change: Change, tenantId: number, name: string, state?: object): Promise<void> {
  const values = [tenantId, name];
  if (state === undefined)
    await change.execute("delete from lockouts where tenant_id = $1 and account = $2", values);
  else
    await change.execute("update lockouts set state = $3 where tenant_id = $1 and account = $2", [
      ...values,
      JSON.stringify(state),
    ]);
}
