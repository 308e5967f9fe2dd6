// The insertion of a session, the same whether it is executed alone or in the transaction that settles a
// sign-in.
import type { Caller } from "../shared/caller.ts";
import type { AuditFacts } from "../shared/database/change.ts";
import type { Statement } from "../shared/database/scope.ts";
import type { Account } from "./sign-in-account.ts";

/** A session to open. */
export interface Opening {
  sessionId: string;
  tenantId: number;
  account: Account;
  ttlSeconds: number;
}

/** The statement that inserts the session, with the epochs that revoke it. */
export function openingStatement(
  { sessionId, tenantId, account, ttlSeconds }: Opening,
  by: Caller,
): Statement {
  const { ip, userAgent } = by.facts;
  const { user_id: userId, user_epoch: userEpoch, tenant_epoch: tenantEpoch } = account;
  return {
    name: "auth.open_session",
    text: `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, ip, user_agent, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8))`,
    values: [sessionId, tenantId, userId, userEpoch, tenantEpoch, ip, userAgent, ttlSeconds],
  };
}

/** The audit entry of the sign-in. */
export function openingEntry({ tenantId, account }: Opening): AuditFacts {
  const target = { type: "user", id: account.user_id };
  return { tenantId, action: "auth.login", target, userId: account.user_id };
}
