// Deletes what signing in leaves behind: ended and expired sessions, old failure counts, addresses not seen
// for long, expired rate counters and mail tokens. Works in batches, so that no statement holds locks for
// long.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const batch = 5_000;
const batchesMax = 100;

const sweeps = [
  `delete from sessions where id in (select id from sessions
     where expires_at < now() - interval '1 day' limit ${batch})`,
  `delete from sessions where id in (select id from sessions where ended_at < now() - interval '1 day' limit ${batch})`,
  // A failure counts for at most a day and an hour.
  `delete from lockouts where (tenant_id, account) in (select tenant_id, account from lockouts
     where updated_at < now() - interval '2 days' limit ${batch}) and updated_at < now() - interval '2 days'`,
  `delete from known_origins where (tenant_id, user_id, address) in (select tenant_id, user_id, address
     from known_origins where seen_at < now() - interval '90 days' limit ${batch})
     and seen_at < now() - interval '90 days'`,
  `delete from mail_tokens where token_hash in (select token_hash from mail_tokens where expires_at < now() limit ${batch})`,
  `delete from rate_limits where key in (select key from rate_limits
     where expire < extract(epoch from now()) * 1000 - 60000 limit ${batch})`,
];

/** The hourly job `auth.sweep`. At most `batch` × `batchesMax` rows of each kind per run. */
export async function sweepSessions(this: { runtime: Runtime }): Promise<void> {
  const { database } = this.runtime;
  for (const sweep of sweeps) {
    await inBatches({ rowsMax: batch, batchesMax }, async () => {
      const text = `${sweep} returning 1 as one`;
      return (await database.write(platform, Caller.system("auth"), { text, values: [] })).length;
    });
  }
}

/**
 * Deletes the revoked sessions of a user. Compares the epoch of each session, so that a forged or late event
 * cannot end a valid one.
 */
export async function deleteRevokedSessions(
  { tenant_id: tenantId, user_id: userId }: { tenant_id: number; user_id: number },
  { database }: Runtime,
): Promise<void> {
  await database.write({ tenantId }, Caller.system("auth"), {
    text: `delete from sessions s using users u where s.tenant_id = $1 and s.user_id = $2
        and u.tenant_id = s.tenant_id and u.id = s.user_id and s.user_epoch <> u.session_epoch`,
    values: [tenantId, userId],
  });
}
