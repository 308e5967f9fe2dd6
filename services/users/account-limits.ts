// Rate limits of the endpoints that need no token. The limits per day are derived from the two settings per
// minute. The keys of the counters name no account in clear text: `account` and `origin` are hashed keys that
// `auth.recognise` computes.
import type { Call } from "../shared/bus/bus.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { addressKey, RateLimit } from "../shared/rate-limits.ts";

const minute = 60;
const day = 86_400;
/**
 * Mails of one kind to one account per day, requested by all origins together that the account does not know.
 */
const unknownOriginMailsPerDay = 6;
/** Mails of one kind to one account per day, requested by origins that the account knows. */
const knownOriginMailsPerDay = 20;
/** Requests of one origin for one kind of mail to one account, per day. */
const originRequestsPerDay = 6;

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
    wishPerDay: limit("wish_day", originRequestsPerDay, day),
    strangersMails: limit("mail_strangers", unknownOriginMailsPerDay, day),
    knownMails: limit("mail_known", knownOriginMailsPerDay, day),
  };
});

/** The requester, as `auth.recognise` describes it. */
export interface Requester {
  known: boolean;
  account: string;
  origin: string;
  address: string;
}

export type MailKind = "verify_email" | "reset_password";

/** Limits registrations per client address and minute. Taken before any look-up. @throws TooManyRequests */
export function limitRegistrations(call: Call<unknown>): Promise<void> {
  return limitsOf(call.runtime).register.take(addressKey(call.caller.facts.ip));
}

/**
 * Limits registrations per client address and per tenant and day. Taken before the look-up of the e-mail
 * address, so that a refusal does not reveal whether the address is taken.
 * @throws TooManyRequests
 */
export async function limitRegistration(
  call: Call<unknown>,
  tenantId: number,
  asked: Requester,
): Promise<void> {
  const limits = limitsOf(call.runtime);
  await limits.registerPerDay.take(asked.address);
  await limits.taken.refuseIfSpent(takenKey(tenantId, asked));
  await limits.takenPerTenant.refuseIfSpent(String(tenantId));
  await limits.registerPerTenant.take(String(tenantId));
  // Each registration sends a mail to the address that it names.
  await limits.strangersMails.take(`verify_email:${asked.account}`);
}

/**
 * Counts an answer "this address is taken". Their number per day and client, and per tenant, is limited
 * against enumeration.
 */
export async function countTaken(call: Call<unknown>, tenantId: number, asked: Requester): Promise<void> {
  const { taken, takenPerTenant } = limitsOf(call.runtime);
  await taken.take(takenKey(tenantId, asked));
  await takenPerTenant.take(String(tenantId));
}

const takenKey = (tenantId: number, { address }: Requester) => `${tenantId}:${address}`;

/**
 * Limits requests for mails per client address and minute. Taken before any look-up.
 * @throws TooManyRequests (429)
 */
export function limitMails(call: Call<unknown>): Promise<void> {
  return limitsOf(call.runtime).mail.take(addressKey(call.caller.facts.ip));
}

/**
 * Counts a request for a mail and refuses when there are too many. Only the requests of this origin count, so
 * the refusal reveals nothing about the account, and no origin uses up the allowance of another.
 * @throws TooManyRequests
 */
export async function limitMailRequests(
  call: Call<unknown>,
  kind: MailKind,
  asked: Requester,
): Promise<void> {
  const { mailPerDay, wish, wishPerDay } = limitsOf(call.runtime);
  await mailPerDay.take(asked.address);
  await wish.take(`${kind}:${asked.origin}`);
  await wishPerDay.take(`${kind}:${asked.origin}`);
}

/**
 * Spends one of the account's mails of today.
 * @returns false when none is left; the client must not learn this
 */
export function spendMailAllowance(
  call: Call<unknown>,
  kind: MailKind,
  asked: Pick<Requester, "known" | "account">,
): Promise<boolean> {
  const { strangersMails, knownMails } = limitsOf(call.runtime);
  return (asked.known ? knownMails : strangersMails).spend(`${kind}:${asked.account}`);
}
