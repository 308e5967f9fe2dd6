// Authorises and records downloads. The bytes are sent by the archive server (archive-server.ts).
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
import { auditTenantOf } from "./audit-tenant.ts";
import type { RowOf } from "../shared/database/row.ts";

const ticketSeconds = 60;
const hashOf = (ticket: string) => createHash("sha256").update(ticket).digest();

/** @throws NotFound, Conflict `backup_type_differs`, Unavailable */
export async function downloadBackup(
  call: Call<{ backup_id: string; type?: BackupType | null }>,
  access: ArchiveAccess,
): Promise<Download> {
  const backup = await findBackup(call, call.params.backup_id, call.params.type);
  return grantDownload(call, access, backup, { tenantId: ownTenant(call.caller) });
}

/**
 * @param take uses up the ticket in the transaction of the audit entry, so a refused download (also for
 * `busy`) leaves it valid
 */
async function grantDownload(
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
      const tenantId = (await auditTenantOf(change, backup.tenant_id)) ?? (await auditTenantOf(change, null));
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

/**
 * Creates a link that is valid for 60 s. It is bound to the caller's session and ends with it.
 * @throws Forbidden, NotFound
 */
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

type TicketRow = RowOf<
  "backups",
  "id" | "tenant_id" | "size_bytes",
  {
    user_id: number;
    /** The user's tenant. */
    taken_by: number;
  }
>;

/** Valid tickets: the session is active, the user is still an administrator, and the backup exists. */
const usableTicketsSql = (tickets: string) =>
  `select b.id, b.tenant_id, b.size_bytes, s.user_id, s.tenant_id as taken_by from ${tickets} t
   join live_sessions s on s.id = t.session_id and s.tenant_id = t.tenant_id and s.role in ('superadmin', 'admin')
   join backups b on b.id = t.backup_id and b.state = 'complete'
     and (s.role = 'superadmin' or b.tenant_id = s.tenant_id)
   where t.expires_at > now()`;

/**
 * Reads the ticket first, because the key is requested outside the transaction; then deletes it, so that of
 * several concurrent uses one succeeds.
 * @throws NotFound, Unavailable
 */
export async function useTicket(call: Call<{ ticket: string }>, access: ArchiveAccess): Promise<Download> {
  const values = [hashOf(call.params.ticket)];
  const ticket = await call.db.readOne<TicketRow>(platform, {
    name: "backups.find_ticket",
    text: usableTicketsSql("(select * from backup_tickets where token_hash = $1)"),
    values,
  });
  if (ticket === undefined) throw new NotFound("Download");
  return grantDownload(
    call,
    access,
    ticket,
    { tenantId: ticket.taken_by, userId: ticket.user_id },
    async (change) => {
      const taken = await change.execute<TicketRow>(
        `with taken as (delete from backup_tickets where token_hash = $1 returning *) ${usableTicketsSql("taken")}`,
        values,
      );
      if (taken.length === 0) throw new NotFound("Download");
    },
  );
}
