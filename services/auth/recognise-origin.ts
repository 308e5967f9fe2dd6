// Actions for other services: recognise the origin of a request, remember an origin, clear failure counts.
import type { Call, ResultOf } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { authContract } from "./auth.contract.ts";
import type { DeviceHints } from "./device-hints.ts";
import { devicePrefix } from "./lockout.rules.ts";
import { rememberAddress } from "./known-origins.ts";
import { accountKey, unknownAccountKey, readSignIn } from "./sign-in-account.ts";
import { addressSlot, type Slots } from "./slots.ts";

type Contract = (typeof authContract)["auth.recognise"];

const accountSlots = 1_048_576;

/**
 * Does the same work whether the account exists or not. The returned keys are for counting only and do not
 * identify the account.
 */
export async function recognise(
  call: Call<ParamsOf<Contract>>,
  { hints, slots }: { hints: DeviceHints; slots: Slots },
): Promise<ResultOf<Contract>> {
  const { email, subdomain: given, device_id: hint } = call.params;
  const typed = { subdomain: given.toLowerCase(), email: email.toLowerCase() };
  const address = addressKey(call.caller.facts.ip);
  const facts = await readSignIn(call.db, { ...typed, email }, address, unknownAccountKey(slots, typed));
  const owner = { tenantId: facts.tenantId, userId: facts.account?.user_id ?? 0 };
  const device = hints.deviceOf(hint, owner, facts.nowMs);
  const account = `${typed.subdomain}|${typed.email}`;
  const origin = device === undefined ? address : `${devicePrefix}${device}`;
  const counterKeyOf = (name: string) => String(slots.of("wish", name, accountSlots));
  return {
    known: device !== undefined || facts.addressSeen !== "never",
    account: counterKeyOf(account),
    origin: counterKeyOf(`${account}|${origin}`),
    address: String(addressSlot(slots, address)),
  };
}

type OfUser = Call<{ tenant_id: number; user_id: number }>;

/**
 * Adds the caller's address to the account's known ones: whoever used a mailed link has access to the
 * mailbox.
 */
export async function rememberOrigin(call: OfUser): Promise<void> {
  const { tenant_id: tenantId, user_id: userId } = call.params;
  const address = addressKey(call.caller.facts.ip);
  await call.db.change(platform, call.caller, (change) =>
    rememberAddress(change, { tenantId, userId }, address),
  );
}

/** Deletes all failure counts of an account. */
export async function clearLockout(call: OfUser): Promise<void> {
  const { tenant_id: tenantId, user_id: userId } = call.params;
  await call.db.write(platform, call.caller, {
    text: "delete from lockouts where tenant_id = $1 and account = $2",
    values: [tenantId, accountKey(userId)],
  });
}
