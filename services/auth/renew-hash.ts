// Renews a password hash that was computed with weaker parameters than today's. The clear text is available
// only after a successful sign-in. The renewal runs in the background and only while the hashing threads are
// idle; otherwise the next sign-in does it.
import type { Call } from "../shared/bus/bus.ts";
import { isCheaper } from "../shared/passwords/phc.ts";
import type { Opening } from "./open-session.ts";

/** Starts the renewal and returns at once, so the sign-in does not wait. */
export function renewHashLater(call: Call<unknown>, { tenantId, account }: Opening, password: string): void {
  const { hasher, log } = call.runtime;
  const { password_hash: old, user_id: userId, user_epoch: epoch } = account;
  if (!isCheaper(old) || hasher.depth > 0) return;
  const renew = async () => {
    const renewed = await hasher.hash(password);
    const renewal = { tenant_id: tenantId, user_id: userId, user_epoch: epoch, new_hash: renewed };
    await call.busForService("accounts.renew_hash", renewal, 10_000);
  };
  void renew().catch((error: unknown) => log.warn({ err: error }, "a password hash was not renewed"));
}
