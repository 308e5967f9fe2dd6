// The addresses that an account has signed in from. Devices are not stored: the hint identifies them.
import type { Change } from "../shared/database/change.ts";

const addressesMax = 10;

/** Adds an address to the account's known ones and keeps the ten newest. */
export async function rememberAddress(
  change: Change,
  { tenantId, userId }: { tenantId: number; userId: number },
  address: string,
): Promise<void> {
  await change.execute(
    `insert into known_origins (tenant_id, user_id, address) values ($1, $2, $3)
     on conflict (tenant_id, user_id, address) do update set seen_at = now()`,
    [tenantId, userId, address],
  );
  await change.execute(
    `delete from known_origins where tenant_id = $1 and user_id = $2 and address in (
       select address from known_origins where tenant_id = $1 and user_id = $2
       order by seen_at desc, created_at desc, address offset ${addressesMax})`,
    [tenantId, userId],
  );
}
