// The proof of a backup: it is laid out in the schema staging as a restore would, read out again, and what comes is compared
// with what was written, byte for byte. Then all of it is taken back.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { PlainChange } from "../shared/database/change.ts";
import type { LeasedJob } from "./leased-job.ts";
import type { BackupParts } from "./make-backup.ts";
import { openArchive } from "./open-archive.ts";

export async function testRestore(
  { moving, ...source }: BackupParts,
  held: LeasedJob,
): Promise<(change: PlainChange) => Promise<AuditChanges>> {
  const { backupId, tenantId, id: job } = held.job;
  await held.say({ step: "laying the archive out" });
  const { manifest, data } = await openArchive(source, { backupId, tenantId }, held.signal);
  const rows = await moving.prove({ manifest, data }, { job, tenantId }, held.told(0, 99), held.signal);
  return async (change) => {
    await change.execute("update backups set tested_at = now(), test_passed = true where id = $1", [
      backupId,
    ]);
    return { rows };
  };
}
