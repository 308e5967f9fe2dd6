// Handing out a backup: who may have it is decided and recorded here; the bytes go another way (archive-server.ts).
import { createHash, randomBytes } from "node:crypto";
import { archiveKeys, archiveNameOf, dataKeyOf } from "./archive/manifest.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { Download } from "../shared/archive/download.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Forbidden, NotFound } from "../shared/errors.ts";
import { ownTenant } from "../shared/administered-scope.ts";
import { toIso } from "../shared/wire.ts";
import type { BackupRow } from "./backup-row.ts";
import { findBackup } from "./find-backup.ts";
import { asAnswer } from "./failure-from.ts";
import type { ArchiveAccess } from "./archive-access.ts";
import type { BackupType } from "./table-decisions.ts";
import { whoseLog } from "./whose-log.ts";
import type { RowOf } from "../shared/database/row.ts";

const ticketSeconds = 60;
const hashOf = (ticket: string) => createHash("sha256").update(ticket).digest();

export async function downloadBackup(
  call: Call<{ backup_id: string; type?: BackupType | null }>,
  shelf: ArchiveAccess,
): Promise<Download> {
  const backup = await findBackup(call, call.params.backup_id, call.params.type);
  return handOut(call, shelf, backup, { tenantId: ownTenant(call.caller) });
}

/** @param take what is used up by it, in one transaction with its entry: a refusal, busy too, leaves it as it was */
async function handOut(
  call: Call<unknown>,
  { server, keyring }: ArchiveAccess,
  backup: Pick<BackupRow, "id" | "tenant_id" | "size_bytes">,
  taker: { tenantId: number | undefined; userId?: number },
  take: (change: PlainChange) => Promise<void> = async () => {},
): Promise<Download> {
  const { key } = await keyring.open(backup.id).catch((error: unknown) => {
    throw asAnswer(error);
  });
  const offered: string[] = [];
  const address = await call.db
    .change(platform, call.caller, async (change) => {
      await take(change);
      const tenantId = (await whoseLog(change, backup.tenant_id)) ?? (await whoseLog(change, null));
      if (tenantId !== undefined)
        change.audit({
          tenantId,
          action: "backup.download",
          target: { type: "backup", id: backup.id },
          ...(taker.userId === undefined ? {} : { userId: taker.userId }),
        });
      const made = server.offer(dataKeyOf(backup.id), taker.tenantId);
      offered.push(made);
      return made;
    })
    .catch((error: unknown) => {
      for (const made of offered) server.withdraw(made);
      throw error;
    });
  return {
    address,
    key: archiveKeys(key).data.export().toString("base64"),
    archive: archiveNameOf({ backup_id: backup.id, tenant_id: backup.tenant_id }),
    file_name: `${backup.id}.tar.zst`,
    bytes: Number(backup.size_bytes),
  };
}

/** Bound to the caller's session: when that ends, so does the link. */
export async function makeTicket(
  call: Call<{ backup_id: string }>,
): Promise<{ url: string; expires_at: string }> {
  const { principal } = call.caller;
  if (principal.kind !== "user") throw new Forbidden();
  const backup = await findBackup(call, call.params.backup_id, undefined);
  const ticket = randomBytes(32).toString("base64url");
  const row = await call.db.change(platform, call.caller, async (change) => {
    const made = await change.one<{ expires_at: string }>(
      `insert into backup_tickets (token_hash, tenant_id, session_id, backup_id, expires_at)
       values ($1, $2, $3, $4, now() + interval '${ticketSeconds} seconds') returning expires_at::text as expires_at`,
      [hashOf(ticket), principal.tenantId, principal.sessionId, backup.id],
    );
    change.audit({
      tenantId: principal.tenantId,
      action: "backup.make_ticket",
      target: { type: "backup", id: backup.id },
    });
    return made;
  });
  return {
    url: `${call.runtime.config.publicUrl}/api/backup-download/${ticket}`,
    expires_at: toIso(row.expires_at),
  };
}

type Used = RowOf<
  "backups",
  "id" | "tenant_id" | "size_bytes",
  {
    user_id: number;
    /** The user's. */
    taken_by: number;
  }
>;

/** Whose session has ended, who is no administrator any more, or whose backup is gone: the link is not there. */
const usable = (tickets: string) =>
  `select b.id, b.tenant_id, b.size_bytes, s.user_id, s.tenant_id as taken_by from ${tickets} t
   join live_sessions s on s.id = t.session_id and s.tenant_id = t.tenant_id and s.role in ('superadmin', 'admin')
   join backups b on b.id = t.backup_id and b.state = 'complete'
     and (s.role = 'superadmin' or b.tenant_id = s.tenant_id)
   where t.expires_at > now()`;

/** Looked at first, as the key is asked for outside of a transaction; of several who use it at once, one takes it. */
export async function useTicket(call: Call<{ ticket: string }>, shelf: ArchiveAccess): Promise<Download> {
  const values = [hashOf(call.params.ticket)];
  const ticket = await call.db.readOne<Used>(platform, {
    name: "backups.find_ticket",
    text: usable("(select * from backup_tickets where token_hash = $1)"),
    values,
  });
  if (ticket === undefined) throw new NotFound("Download");
  return handOut(
    call,
    shelf,
    ticket,
    { tenantId: ticket.taken_by, userId: ticket.user_id },
    async (change) => {
      const taken = await change.execute<Used>(
        `with taken as (delete from backup_tickets where token_hash = $1 returning *) ${usable("taken")}`,
        values,
      );
      if (taken.length === 0) throw new NotFound("Download");
    },
  );
}
