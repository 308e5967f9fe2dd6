// Signing in. Unknown tenant, unknown e-mail, wrong password and lock-out are one answer after the same work; what
// else is wrong with an account is told only to who knows its password.
import { randomUUID } from "node:crypto";
import type { Call } from "../shared/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Forbidden, type ServiceError, Unauthorized } from "../shared/errors.ts";
import { isLocked } from "../shared/lockout.rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { dummyHash } from "../shared/passwords/phc.ts";
import type { AccessTokens } from "./access-token.ts";
import type { AccountQueue } from "./attempts.ts";
import type { authContract } from "./auth.contract.ts";
import {
  type Account,
  countFailure,
  forgetFailures,
  readSignIn,
  type SignInFacts,
} from "./sign-in-account.ts";

type Params = { email: string; password: string; subdomain: string };
export type LoginResult = ValueOf<(typeof authContract)["auth.login"]["result"]>;

export function login(call: Call<Params>, tokens: AccessTokens, queue: AccountQueue): Promise<LoginResult> {
  const subdomain = call.params.subdomain.toLowerCase();
  const email = call.params.email.toLowerCase();
  return queue.run(`${subdomain}\n${email}`, async () => {
    const facts = await readSignIn(call.db, subdomain, call.params.email);
    const { account } = facts;
    const locked = isLocked(facts.lockout ?? undefined, facts.nowMs);
    const right = await call.runtime.hasher.verify(
      account?.password_hash ?? dummyHash(),
      call.params.password,
    );
    if (account === undefined || locked || !right) {
      const reason = locked ? "locked_out" : account === undefined ? "unknown_account" : "wrong_password";
      await recordRefusal(call, facts, reason, !locked);
      throw new Unauthorized("invalid_credentials", "Incorrect e-mail, password or subdomain");
    }
    const refusal = refusalOf(account);
    if (refusal !== undefined) {
      await recordRefusal(call, facts, refusal.type, false);
      throw refusal;
    }
    return openSession(call, facts, account, tokens);
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

async function recordRefusal(
  call: Call<Params>,
  facts: SignInFacts,
  reason: string,
  counts: boolean,
): Promise<void> {
  await call.db.change(platform, call.caller, async (change) => {
    if (counts) await countFailure(change, facts.tenantId, facts.lockoutKey);
    change.audit({
      tenantId: facts.tenantId,
      action: "auth.login",
      outcome: "denied",
      // Not the e-mail that was typed: people type passwords there.
      ...(facts.account === undefined ? {} : { target: { type: "user", id: facts.account.user_id } }),
      changes: { reason },
    });
  });
}

async function openSession(
  call: Call<Params>,
  { tenantId, lockout, lockoutKey }: SignInFacts,
  account: Account,
  tokens: AccessTokens,
): Promise<LoginResult> {
  const sessionId = randomUUID();
  const { config } = call.runtime;
  const { ip, userAgent } = call.caller.facts;
  const opening = {
    name: "auth.open_session",
    text: `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, ip, user_agent, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))`,
    values: [
      sessionId,
      tenantId,
      account.user_id,
      account.user_epoch,
      account.tenant_epoch,
      ip,
      userAgent,
      config.accessTokenTtlSeconds,
    ],
  };
  const target = { type: "user", id: account.user_id };
  const facts = { tenantId, action: "auth.login", target, userId: account.user_id };
  await call.db.changeOnce(platform, call.caller, opening, facts);
  if (lockout !== null) await forgetFailures(call.db, tenantId, lockoutKey);
  return {
    access_token: tokens.sign({ userId: account.user_id, tenantId, role: account.role, sessionId }),
    token_type: "bearer",
    tenant_id: tenantId,
    role: account.role,
    demo_mode: config.demoMode,
  };
}
