// Without a secret nobody vouches for a notification: anybody may post as many as they like, under ids of their own. So there
// are few a minute from one address, and few a day in all. Beyond that it is 429, not a silent 200: a provider comes
// again with what was refused, and once a secret is set it counts. What is signed is never held up by this.
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
