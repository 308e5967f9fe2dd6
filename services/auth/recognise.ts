// What other services ask about origins: whether an account knows one, and to forget or forgive what is counted.
import type { Call, ResultOf } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { authContract } from "./auth.contract.ts";
import type { DeviceHints } from "./device-hints.ts";
import { devicePrefix } from "./guesses.rules.ts";
import { rememberAddress } from "./known-origins.ts";
import { accountKey, ghostKey, readSignIn } from "./sign-in-account.ts";
import { addressSlot, type Slots } from "./slots.ts";

type Asked = (typeof authContract)["auth.recognise"];

const accountSlots = 1_048_576;

/** The same work whether there is such an account or not; the names are for counting, and say nothing of who is counted. */
export async function recognise(
  call: Call<ParamsOf<Asked>>,
  { hints, slots }: { hints: DeviceHints; slots: Slots },
): Promise<ResultOf<Asked>> {
  const { email, subdomain: given, device_id: hint } = call.params;
  const who = { subdomain: given.toLowerCase(), email: email.toLowerCase() };
  const address = addressKey(call.caller.facts.ip);
  const facts = await readSignIn(call.db, { ...who, email }, address, ghostKey(slots, who));
  const owner = { tenantId: facts.tenantId, userId: facts.account?.user_id ?? 0 };
  const device = hints.deviceOf(hint, owner, facts.nowMs);
  const account = `${who.subdomain}|${who.email}`;
  const origin = device === undefined ? address : `${devicePrefix}${device}`;
  const slotOf = (name: string) => String(slots.of("wish", name, accountSlots));
  return {
    known: device !== undefined || facts.addressSeen !== "never",
    account: slotOf(account),
    origin: slotOf(`${account}|${origin}`),
    address: String(addressSlot(slots, address)),
  };
}

type OfUser = Call<{ tenant_id: number; user_id: number }>;

/** Who has used a mailed link holds the account's mailbox: from now on the account knows the address it came from. */
export async function rememberOrigin(call: OfUser): Promise<void> {
  const { tenant_id: tenantId, user_id: userId } = call.params;
  const address = addressKey(call.caller.facts.ip);
  await call.db.change(platform, call.caller, (change) =>
    rememberAddress(change, { tenantId, userId }, address),
  );
}

/** All that is held against an account, by whomever. */
export async function clearLockout(call: OfUser): Promise<void> {
  const { tenant_id: tenantId, user_id: userId } = call.params;
  await call.db.write(platform, call.caller, {
    text: "delete from lockouts where tenant_id = $1 and account = $2",
    values: [tenantId, accountKey(userId)],
  });
}
