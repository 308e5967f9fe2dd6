// The rates of what anyone may ask for without a token. Those of a day follow from the two settings of a minute. Counters
// name nobody: an account, and an account with an origin, are slots that `auth.recognise` makes of them.
import type { Call } from "../shared/bus/bus.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { addressKey, RateLimit } from "../shared/rate-limits.ts";

const minute = 60;
const day = 86_400;
/** Of one kind, to one account: asked for by all origins together that it does not know. */
export const strangersMailsPerDay = 6;
/** The same of those it knows. */
export const knownMailsPerDay = 20;
/** Wishes of one origin for one kind of mail to one account. */
export const originWishesPerDay = 6;

const limitsOf = perRuntime(({ config: { registerPerMinute, mailPerMinute }, database }) => {
  const limit = (name: string, points: number, seconds: number) =>
    new RateLimit(database, name, points, seconds);
  return {
    register: limit("register", registerPerMinute, minute),
    registerPerDay: limit("register_day", 20 * registerPerMinute, day),
    registerPerTenant: limit("register_tenant", 100 * registerPerMinute, day),
    taken: limit("taken", registerPerMinute, day),
    takenPerTenant: limit("taken_tenant", 5 * registerPerMinute, day),
    mail: limit("mail", mailPerMinute, minute),
    mailPerDay: limit("mail_day", 20 * mailPerMinute, day),
    wish: limit("wish", 1, minute),
    wishPerDay: limit("wish_day", originWishesPerDay, day),
    strangersMails: limit("mail_strangers", strangersMailsPerDay, day),
    knownMails: limit("mail_known", knownMailsPerDay, day),
  };
});

/** As `auth.recognise` answers. */
export interface Asked {
  known: boolean;
  account: string;
  origin: string;
  address: string;
}

export type MailKind = "verify_email" | "reset_password";

/** Before anything is looked at. */
export function limitRegistrations(call: Call<unknown>): Promise<void> {
  return limitsOf(call.runtime).register.take(addressKey(call.caller.facts.ip));
}

/** Before it is looked at whether the address is taken: the answer would say so. */
export async function limitRegistration(call: Call<unknown>, tenantId: number, asked: Asked): Promise<void> {
  const limits = limitsOf(call.runtime);
  await limits.registerPerDay.take(asked.address);
  await limits.taken.refuseIfSpent(takenKey(tenantId, asked));
  await limits.takenPerTenant.refuseIfSpent(String(tenantId));
  await limits.registerPerTenant.take(String(tenantId));
  // Each registration sends a mail, to whoever's address it names.
  await limits.strangersMails.take(`verify_email:${asked.account}`);
}

/** That an address is taken is an answer that is given so many times a day only. */
export async function countTaken(call: Call<unknown>, tenantId: number, asked: Asked): Promise<void> {
  const { taken, takenPerTenant } = limitsOf(call.runtime);
  await taken.take(takenKey(tenantId, asked));
  await takenPerTenant.take(String(tenantId));
}

const takenKey = (tenantId: number, { address }: Asked) => `${tenantId}:${address}`;

/** Before anything is looked at. */
export function limitMails(call: Call<unknown>): Promise<void> {
  return limitsOf(call.runtime).mail.take(addressKey(call.caller.facts.ip));
}

/**
 * Counts a wish for a mail. Whoever asks too often is told so, by what this origin alone has asked for: it says nothing of
 * the account, and no one uses up another origin's turns.
 */
export async function limitWishes(call: Call<unknown>, kind: MailKind, asked: Asked): Promise<void> {
  const { mailPerDay, wish, wishPerDay } = limitsOf(call.runtime);
  await mailPerDay.take(asked.address);
  await wish.take(`${kind}:${asked.origin}`);
  await wishPerDay.take(`${kind}:${asked.origin}`);
}

/** Whether the account has a mail left today for who asks; nobody is told. */
export function takeTurn(
  call: Call<unknown>,
  kind: MailKind,
  asked: Pick<Asked, "known" | "account">,
): Promise<boolean> {
  const { strangersMails, knownMails } = limitsOf(call.runtime);
  return (asked.known ? knownMails : strangersMails).spend(`${kind}:${asked.account}`);
}
