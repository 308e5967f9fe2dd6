// Signing in. An unknown tenant, an unknown e-mail address, a wrong password and every limit on guesses get
// the same answer after the same work. Other reasons for a refusal are revealed only after a right password.
import { randomUUID } from "node:crypto";
import type { Call, ResultOf } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Forbidden, type ServiceError, Unauthorized } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { dummyHash } from "../shared/passwords/phc.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { AccessTokens } from "./access-token.ts";
import type { AttemptQueue } from "./attempts.ts";
import type { authContract } from "./auth.contract.ts";
import type { DeviceHints } from "./device-hints.ts";
import { devicePrefix } from "./lockout.rules.ts";
import { openingEntry, openingStatement } from "./open-session.ts";
import { renewHashLater } from "./renew-hash.ts";
import { settleSignIn, type CheckedSignIn, type Verdict } from "./settle-sign-in.ts";
import {
  type Account,
  accountKey,
  unknownAccountKey,
  readSignIn,
  type SignInFacts,
} from "./sign-in-account.ts";
import { countSignIn } from "./sign-in-counter.ts";
import { addressSlot, type Slots } from "./slots.ts";
import { sessionsMax, trimSessions } from "./trim-sessions.ts";

type Contract = (typeof authContract)["auth.login"];
type Params = ParamsOf<Contract>;
export type LoginResult = ResultOf<Contract>;

/** The parts of the service that a sign-in uses. */
export interface LoginParts {
  tokens: AccessTokens;
  attempts: AttemptQueue;
  hints: DeviceHints;
  slots: Slots;
}

/**
 * Failures per day of an address with accounts that do not know it, for each sign-in per minute that the rate
 * limit allows.
 */
const failuresPerRate = 20;

/**
 * Signs in and returns the access token.
 * @throws Unauthorized `invalid_credentials`, Forbidden `account_pending`, `account_blocked` or
 * `email_not_verified`
 */
export function login(call: Call<Params>, parts: LoginParts): Promise<LoginResult> {
  const { email, subdomain: given } = call.params;
  const subdomain = given.toLowerCase();
  const address = addressKey(call.caller.facts.ip);
  return parts.attempts.run(`${subdomain}\n${email.toLowerCase()}\n${address}`, async () => {
    const unknownKey = unknownAccountKey(parts.slots, { subdomain, email: email.toLowerCase() });
    const facts = await readSignIn(call.db, { subdomain, email }, address, unknownKey);
    const { account } = facts;
    const owner = { tenantId: facts.tenantId, userId: account?.user_id ?? 0 };
    const device = parts.hints.deviceOf(call.params.device_id, owner, facts.nowMs);
    const hash = account?.password_hash ?? dummyHash();
    const isRight = await call.runtime.hasher.verify(hash, call.params.password);
    const refusal = account === undefined || !isRight ? undefined : refusalOf(account);
    const verdict = verdictOf(call, facts, isRight, refusal);
    const signIn: CheckedSignIn = {
      verdict,
      counts: {
        tenantId: facts.tenantId,
        account: account === undefined ? unknownKey : accountKey(account.user_id),
        platformId: facts.platformId,
        addressSlot: addressSlot(parts.slots, address),
      },
      userId: account?.user_id,
      origin: device === undefined ? address : `${devicePrefix}${device}`,
      known: device !== undefined || facts.addressSeen !== "never",
      address,
      addressMax: call.runtime.config.loginPerMinute * failuresPerRate,
    };
    const reason = await openOrSettle(call, facts, signIn);
    countSignIn(call.runtime)(reason ?? "ok");
    if (refusal !== undefined && reason === refusal.type) throw refusal;
    if (reason !== undefined || verdict.is !== "right")
      throw new Unauthorized("invalid_credentials", "Incorrect e-mail, password or subdomain");
    const { opening } = verdict;
    if (facts.sessions >= sessionsMax) await trimSessions(call, owner);
    renewHashLater(call, opening, call.params.password);
    const { role, user_id: userId } = opening.account;
    return {
      access_token: parts.tokens.sign({ ...owner, userId, role, sessionId: opening.sessionId }),
      token_type: "bearer",
      tenant_id: facts.tenantId,
      role,
      demo_mode: call.runtime.config.demoMode,
      device_id: parts.hints.issue(owner, facts.nowMs, device),
    };
  });
}

function refusalOf(account: Account): ServiceError | undefined {
  if (!account.approved)
    return new Forbidden("account_pending", "The account waits for an administrator's approval");
  if (!account.is_active) return new Forbidden("account_blocked", "The account is blocked");
  if (!account.email_verified)
    return new Forbidden("email_not_verified", "The e-mail address is not verified yet");
  return undefined;
}

function verdictOf(
  { runtime: { config } }: Call<Params>,
  { tenantId, account }: SignInFacts,
  isRight: boolean,
  refusal: ServiceError | undefined,
): Verdict {
  if (account === undefined) return { is: "wrong", reason: "unknown_account" };
  if (!isRight) return { is: "wrong", reason: "wrong_password" };
  if (refusal !== undefined) return { is: "refused", reason: refusal.type };
  const ttlSeconds = config.accessTokenTtlSeconds;
  return { is: "right", opening: { sessionId: randomUUID(), tenantId, account, ttlSeconds } };
}

/**
 * Opens the session with a single statement when there are no failure counts and the account signed in from
 * this address today: then there is nothing to decide or to store. The guesses of one address are serialised
 * in each process, so this path lets through at most one guess per process at a time.
 */
async function openOrSettle(
  call: Call<Params>,
  facts: SignInFacts,
  signIn: CheckedSignIn,
): Promise<string | undefined> {
  const { verdict } = signIn;
  if (verdict.is !== "right" || facts.isCounted || facts.addressSeen !== "today")
    return settleSignIn(call, signIn);
  const statement = openingStatement(verdict.opening, call.caller);
  await call.db.changeOnce(platform, call.caller, statement, openingEntry(verdict.opening));
  return undefined;
}
