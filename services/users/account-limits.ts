// The rates of what anyone may ask for without a token.
import { createHash } from "node:crypto";
import type { Call } from "../shared/bus.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { addressKey, RateLimit } from "../shared/rate-limits.ts";

const limitsOf = perRuntime(({ config, database }) => ({
  register: new RateLimit(database, "register", config.registerPerMinute, 60),
  mailPerAddress: new RateLimit(database, "mail", config.mailPerMinute, 60),
  mailPerAccount: new RateLimit(database, "mail_account", 1, 60),
}));

export function limitRegistration(call: Call<unknown>): Promise<void> {
  return limitsOf(call.runtime).register.take(addressKey(call.caller.facts.ip));
}

/** @param account anything that names the account the same way each time; it may not exist */
export async function limitMail(call: Call<unknown>, account: string): Promise<void> {
  const { mailPerAddress, mailPerAccount } = limitsOf(call.runtime);
  await mailPerAddress.take(addressKey(call.caller.facts.ip));
  // The counters name nobody, and long addresses that begin alike are not one.
  await mailPerAccount.take(createHash("sha256").update(account).digest("base64url"));
}
