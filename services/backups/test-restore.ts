// Verifies a backup: stages it as a restore would, reads it back and compares it with the archive, byte for
// byte. Then the staged rows are rolled back.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { PlainChange } from "../shared/database/change.ts";
import type { LeasedJob } from "./leased-job.ts";
import type { BackupParts } from "./make-backup.ts";
import { openArchive } from "./open-archive.ts";

/** @returns the ending that marks the backup as verified @throws JobFailed `not_as_written` */
export async function testRestore(
  { moving, ...source }: BackupParts,
  leased: LeasedJob,
): Promise<(change: PlainChange) => Promise<AuditChanges>> {
  const { backupId, tenantId, id: job } = leased.job;
  await leased.renewNow({ step: "laying the archive out" });
  const { manifest, data } = await openArchive(source, { backupId, tenantId }, leased.signal);
  const rows = await moving.prove(
    { manifest, data },
    { job, tenantId },
    leased.progressFor(0, 99),
    leased.signal,
  );
  return async (change) => {
    await change.execute("update backups set tested_at = now(), test_passed = true where id = $1", [
      backupId,
    ]);
    return { rows };
  };
}
