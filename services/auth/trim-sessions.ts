// An account has so many sessions at a time: who signs in once more ends the oldest. Looked at behind a sign-in that found
// that many, so that others cost nothing more; what is left over by a crash in between goes with the next one.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";

/** A row stays for a day after its end, so this bounds the rows too. Sessions that are over go first. */
export const sessionsMax = 100;

export async function trimSessions(
  call: Call<unknown>,
  { tenantId, userId }: { tenantId: number; userId: number },
): Promise<void> {
  await call.db.change(platform, call.caller, async (change) => {
    const gone = await change.execute<{ lived: boolean }>(
      `delete from sessions where id in (
         select id from sessions where tenant_id = $1 and user_id = $2
         order by (ended_at is null and expires_at > now()) desc, created_at desc, id offset ${sessionsMax})
       returning ended_at is null and expires_at > now() as lived`,
      [tenantId, userId],
    );
    const ended = gone.filter(({ lived }) => lived).length;
    if (ended === 0) return;
    const target = { type: "user", id: userId };
    change.audit({ tenantId, action: "auth.end_oldest", target, userId, changes: { sessions: ended } });
  });
}
