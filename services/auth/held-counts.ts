// The counts of failed sign-ins as they are stored, held for the length of a transaction: whoever decides about a sign-in
// holds both the account's row and the address's, so guesses are decided one after the other over all replicas.
import type { Change } from "../shared/database/change.ts";
import type { AccountCounts } from "./guesses.rules.ts";
import type { Tally } from "./tally.rules.ts";

export interface CountsOf {
  tenantId: number;
  /** The account's name in `lockouts`. */
  account: string;
  platformId: number;
  /** Counts of addresses concern all tenants: they are in the platform's books. */
  addressSlot: number;
}

export interface Counts {
  account: AccountCounts | undefined;
  address: Tally;
}

interface Row {
  account: string;
  state: unknown;
  now_ms: number;
}

const addressName = ({ addressSlot }: CountsOf) => `address:${addressSlot}`;

/**
 * Locks both rows, made where they were missing.
 * @returns what is counted so far; `nowMs` is the database's own clock, which is one for all nodes
 */
export async function holdCounts(change: Change, of: CountsOf): Promise<Counts & { nowMs: number }> {
  // The address's row first, always: two sign-ins never wait for each other in a circle. An insert that meets a row locks
  // it, and makes it again where it was deleted in that moment.
  const rows = await change.execute<Row>(
    `insert into lockouts (tenant_id, account, state) values ($1, $2, 'null'), ($3, $4, 'null')
     on conflict (tenant_id, account) do update set updated_at = now()
     returning account, state, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    [of.platformId, addressName(of), of.tenantId, of.account],
  );
  const [address, account] = rows;
  return {
    // Written by this file alone, from values of these types.
    account: (account?.state ?? undefined) as AccountCounts | undefined,
    address: (address?.state ?? []) as Tally,
    nowMs: account?.now_ms ?? 0,
  };
}

/** Writes what was held, changed or not; a count of nothing leaves no row. */
export async function keepCounts(change: Change, of: CountsOf, { account, address }: Counts): Promise<void> {
  await keep(change, of.platformId, addressName(of), address.length === 0 ? undefined : address);
  await keep(change, of.tenantId, of.account, account);
}

async function keep(change: Change, tenantId: number, name: string, state?: object): Promise<void> {
  const values = [tenantId, name];
  if (state === undefined)
    await change.execute("delete from lockouts where tenant_id = $1 and account = $2", values);
  else
    await change.execute("update lockouts set state = $3 where tenant_id = $1 and account = $2", [
      ...values,
      JSON.stringify(state),
    ]);
}
