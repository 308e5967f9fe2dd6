// How an action gets its tenant's keys from the crypto service: on behalf of its caller, and only if none are cached.
import type { Call } from "../bus/bus.ts";
import type { LoadKeys } from "./key-cache.ts";
import type { TenantKeys } from "./tenant-keys.ts";

function asking(call: Call<unknown>): LoadKeys {
  return async (tenantId, wornKeyId) => {
    const { keys } = await call.bus("crypto.keys", { tenant_id: tenantId, worn_key_id: wornKeyId ?? null });
    return keys;
  };
}

/** @returns keys to encrypt, and to search by blind index */
export function sealingKeys(call: Call<unknown>, tenantId: number): Promise<TenantKeys> {
  return call.runtime.keys.of(tenantId, asking(call));
}

/** @returns keys to decrypt all of `sealed`, as far as the tenant has them */
export function openingKeys(
  call: Call<unknown>,
  tenantId: number,
  sealed: readonly Buffer[],
): Promise<TenantKeys> {
  return call.runtime.keys.opening(tenantId, sealed, asking(call));
}
