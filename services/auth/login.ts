// Signing in. Unknown tenant, unknown e-mail, wrong password and every bound on guesses are one answer after the same work;
// what else is wrong with an account is told only to who knows its password.
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
import { devicePrefix } from "./guesses.rules.ts";
import { openingEntry, openingStatement } from "./open-session.ts";
import { renewHashLater } from "./renew-hash.ts";
import { settleSignIn, type Trial, type Verdict } from "./settle-sign-in.ts";
import { type Account, accountKey, ghostKey, readSignIn, type SignInFacts } from "./sign-in-account.ts";
import { countSignIn } from "./sign-in-counter.ts";
import { addressSlot, type Slots } from "./slots.ts";
import { sessionsMax, trimSessions } from "./trim-sessions.ts";

type Contract = (typeof authContract)["auth.login"];
type Params = ParamsOf<Contract>;
export type LoginResult = ResultOf<Contract>;

export interface LoginParts {
  tokens: AccessTokens;
  attempts: AttemptQueue;
  hints: DeviceHints;
  slots: Slots;
}

/** A day's failures of an address with accounts that do not know it, for each sign-in a minute that it has. */
const failuresPerRate = 20;

export function login(call: Call<Params>, parts: LoginParts): Promise<LoginResult> {
  const { email, subdomain: given } = call.params;
  const subdomain = given.toLowerCase();
  const address = addressKey(call.caller.facts.ip);
  return parts.attempts.run(`${subdomain}\n${email.toLowerCase()}\n${address}`, async () => {
    const ghost = ghostKey(parts.slots, { subdomain, email: email.toLowerCase() });
    const facts = await readSignIn(call.db, { subdomain, email }, address, ghost);
    const { account } = facts;
    const owner = { tenantId: facts.tenantId, userId: account?.user_id ?? 0 };
    const device = parts.hints.deviceOf(call.params.device_id, owner, facts.nowMs);
    const hash = account?.password_hash ?? dummyHash();
    const isRight = await call.runtime.hasher.verify(hash, call.params.password);
    const refusal = account === undefined || !isRight ? undefined : refusalOf(account);
    const verdict = verdictOf(call, facts, isRight, refusal);
    const trial: Trial = {
      verdict,
      counts: {
        tenantId: facts.tenantId,
        account: account === undefined ? ghost : accountKey(account.user_id),
        platformId: facts.platformId,
        addressSlot: addressSlot(parts.slots, address),
      },
      userId: account?.user_id,
      origin: device === undefined ? address : `${devicePrefix}${device}`,
      known: device !== undefined || facts.addressSeen !== "never",
      address,
      addressMax: call.runtime.config.loginPerMinute * failuresPerRate,
    };
    const reason = await openOrSettle(call, facts, trial);
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
 * Where nothing is held against the account, and it signed in from this address today, there is nothing to decide or to
 * remember, so the session opens by one statement. Guesses of one address come one at a time in each process, so this
 * lets through no more of them at once than there are processes.
 */
async function openOrSettle(
  call: Call<Params>,
  facts: SignInFacts,
  trial: Trial,
): Promise<string | undefined> {
  const { verdict } = trial;
  if (verdict.is !== "right" || facts.isCounted || facts.addressSeen !== "today")
    return settleSignIn(call, trial);
  const statement = openingStatement(verdict.opening, call.caller);
  await call.db.changeOnce(platform, call.caller, statement, openingEntry(verdict.opening));
  return undefined;
}
