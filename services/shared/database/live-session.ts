// Asked at the end of a signed-in user's change, when it holds all its locks: does the session by which it is made still
// live, with the same role? So a change that waited while its caller was blocked, deleted, given another role or signed
// out is undone, not committed. It comes after the audit entries: they hold the tenant's log until the commit, and who ends
// a session writes there too, so of the two one is seen to come first.
import type { Kysely } from "kysely";
import type { Caller } from "../caller.ts";
import { sessionEnded } from "../errors.ts";
import { runBound, runPrepared } from "./bound-values.ts";
import type { Scope } from "./scope.ts";

/** As the view `live_sessions` has it, which only the platform's scope may read; a test compares them. */
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
  // A superadmin works in other tenants' scopes too. Nothing comes after this but the commit.
  if (scope !== "platform" && scope.tenantId !== tenantId)
    await runBound(transaction, {
      text: "select set_config('app.tenant_id', $1, true)",
      values: [String(tenantId)],
    });
  const values = [tenantId, sessionId, userId, role];
  // Joining three tables costs ten times more to plan than to do.
  const { rows } = await runPrepared(transaction, { name: "session_lives", text: sessionLives, values });
  // One row, with the statement's one column.
  const [{ lives }] = rows as [{ lives: boolean }];
  if (!lives) throw sessionEnded();
}
