// Limits the sessions of an account: a further sign-in ends the oldest. Executed after a sign-in that found
// the limit reached, so other sign-ins cost nothing more. If a crash prevents it, the next sign-in does it.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";

/**
 * A row is kept for a day after the session's end, so this bounds the rows too. Ended sessions are deleted
 * first.
 */
export const sessionsMax = 100;

/** Deletes the account's oldest sessions beyond the limit, and audits how many of them were still valid. */
export async function trimSessions(
  call: Call<unknown>,
  { tenantId, userId }: { tenantId: number; userId: number },
): Promise<void> {
  await call.db.change(platform, call.caller, async (change) => {
    const deleted = await change.execute<{ lived: boolean }>(
      `delete from sessions where id in (
         select id from sessions where tenant_id = $1 and user_id = $2
         order by (ended_at is null and expires_at > now()) desc, created_at desc, id offset ${sessionsMax})
       returning ended_at is null and expires_at > now() as lived`,
      [tenantId, userId],
    );
    const ended = deleted.filter(({ lived }) => lived).length;
    if (ended === 0) return;
    const target = { type: "user", id: userId };
    change.audit({ tenantId, action: "auth.end_oldest", target, userId, changes: { sessions: ended } });
  });
}
