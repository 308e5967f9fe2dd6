// How an action asks the crypto service for its tenant's keys: on behalf of its caller, and only when none are held.
import type { Call } from "../bus/bus.ts";
import type { LoadKeys } from "./key-cache.ts";
import type { TenantKeys } from "./tenant-keys.ts";

function asking(call: Call<unknown>): LoadKeys {
  return async (tenantId, wornKeyId) => {
    const { keys } = await call.bus("crypto.keys", { tenant_id: tenantId, worn_key_id: wornKeyId ?? null });
    return keys;
  };
}

/** Keys to seal and to find with. */
export function sealingKeys(call: Call<unknown>, tenantId: number): Promise<TenantKeys> {
  return call.runtime.keys.of(tenantId, asking(call));
}

/** Keys to open all of `sealed` with, as far as the tenant has them. */
export function openingKeys(
  call: Call<unknown>,
  tenantId: number,
  sealed: readonly Buffer[],
): Promise<TenantKeys> {
  return call.runtime.keys.opening(tenantId, sealed, asking(call));
}
