// Without a secret, notifications cannot be verified, and anybody may post any number with any ids. So their
// number is limited per minute and address, and per day in total. Above the limit the answer is 429, not a
// silent 200: the provider retries it, and after a secret is set it counts. Signed notifications are not
// limited.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { limitDaily } from "../shared/limits/daily-limit.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { addressKey, RateLimit } from "../shared/rate-limits.ts";
import type { ProviderName } from "./payments.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

const perAddressOf = perRuntime(
  ({ config, database }) => new RateLimit(database, "unsigned", config.unsignedPerMinute, 60),
);

/** @throws TooManyRequests */
export async function limitUnsigned(call: Call<unknown>, provider: ProviderName): Promise<void> {
  await perAddressOf(call.runtime).take(addressKey(call.caller.facts.ip));
  const [tenant] = await call.db.read<RowOf<"tenants", "id">>(platform, {
    name: "payments.platform",
    text: "select id from tenants where subdomain = 'platform' and deleted_at is null",
    values: [],
  });
  if (tenant === undefined) throw new Error("the platform tenant is missing");
  await limitDaily(call, platform, tenant.id, `payments.unsigned_${provider}`);
}
