// Checks at the end of a signed-in user's change, when it holds all its locks, that the session is still alive and has the same
// role. So a change that waited while its caller was blocked, deleted, given another role or signed out is rolled back. The check
// comes after the audit entries: they lock the tenant's log until the commit. Ending a session writes to that log too, so the two
// are ordered.
import type { Kysely } from "kysely";
import type { Caller } from "../caller.ts";
import { sessionEnded } from "../errors.ts";
import { runBound, runPrepared } from "./bound-values.ts";
import type { Scope } from "./scope.ts";

/** The same condition as the view `live_sessions`, which only the platform scope may read; a test compares both. */
export const sessionLives = `select exists (
  select from sessions s
  join users u on u.tenant_id = s.tenant_id and u.id = s.user_id and u.session_epoch = s.user_epoch
  join tenants t on t.id = s.tenant_id and t.session_epoch = s.tenant_epoch
  where s.tenant_id = $1 and s.id = $2 and s.user_id = $3 and s.ended_at is null and s.expires_at > now()
    and u.is_active and u.deleted_at is null and u.role = $4 and t.is_active and t.deleted_at is null) as lives`;

/** @throws Unauthorized */
export async function assertSessionLives(
  transaction: Kysely<unknown>,
  scope: Scope,
  { principal }: Caller,
): Promise<void> {
  if (principal.kind !== "user") return;
  const { tenantId, sessionId, userId, role } = principal;
  // A superadmin also works in the scopes of other tenants. Only the commit follows, so the setting can be changed here.
  if (scope !== "platform" && scope.tenantId !== tenantId)
    await runBound(transaction, {
      text: "select set_config('app.tenant_id', $1, true)",
      values: [String(tenantId)],
    });
  const values = [tenantId, sessionId, userId, role];
  // Prepared, because planning a join of three tables costs ten times more than running it.
  const { rows } = await runPrepared(transaction, { name: "session_lives", text: sessionLives, values });
  // One row, with the statement's one column.
  const [{ lives }] = rows as [{ lives: boolean }];
  if (!lives) throw sessionEnded();
}
