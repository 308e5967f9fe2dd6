// A password whose hash is cheaper than today's is hashed anew when it is at hand: after a sign-in with it. In the
// background, and only while the password threads have nothing else to do; what is left out comes at the next sign-in.
import type { Call } from "../shared/bus/bus.ts";
import { isCheaper } from "../shared/passwords/phc.ts";
import type { Opening } from "./open-session.ts";

/** Begins it and returns: the sign-in does not wait. */
export function renewHashLater(call: Call<unknown>, { tenantId, account }: Opening, password: string): void {
  const { hasher, log } = call.runtime;
  const { password_hash: old, user_id: userId, user_epoch: epoch } = account;
  if (!isCheaper(old) || hasher.depth > 0) return;
  const renew = async () => {
    const fresh = await hasher.hash(password);
    const renewal = { tenant_id: tenantId, user_id: userId, user_epoch: epoch, new_hash: fresh };
    await call.busForService("accounts.renew_hash", renewal, 10_000);
  };
  void renew().catch((error: unknown) => log.warn({ err: error }, "a password hash was not renewed"));
}
