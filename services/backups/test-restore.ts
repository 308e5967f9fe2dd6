// The proof of a backup: it is laid out in the schema staging as a restore would, read out again, and what comes is compared
// with what was written, byte for byte. Then all of it is taken back.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { createHash } from "node:crypto";
import { Bulk, quoted } from "../shared/database/bulk.ts";
import type { PlainChange } from "../shared/database/change.ts";
import type { ArchivedTable } from "./archive/manifest.ts";
import type { HeldJob } from "./held-job.ts";
import { JobFailed } from "./job-failed.ts";
import type { BackupParts } from "./make-backup.ts";
import { openArchive } from "./open-archive.ts";
import { stage } from "./stage.ts";

const stagingShare = 60;

export async function testRestore(
  { store, keyring, databaseUrl }: BackupParts,
  held: HeldJob,
): Promise<(change: PlainChange) => Promise<AuditChanges>> {
  const { backupId, tenantId, id: job } = held.job;
  await held.say({ step: "laying the archive out" });
  const archive = await openArchive(store, keyring, { backupId, tenantId }, held.signal);
  const { tables } = archive.manifest.contents;
  const whole = tables.reduce((sum, { bytes }) => sum + bytes, 1);
  const bulk = await Bulk.open(databaseUrl, held.signal);
  let rows = 0;
  try {
    await bulk.beginChange({ as: "restore", ...(tenantId === null ? {} : { tenantId }), job });
    let read = 0;
    const progress = (bytes: number) => {
      read += bytes;
      held.at({ percent: (stagingShare * read) / whole, bytes: read });
    };
    await stage(bulk, store, archive, progress, held.signal);
    for (const [at, table] of tables.entries()) {
      held.at({
        step: `comparing ${table.name}`,
        percent: stagingShare + ((99 - stagingShare) * at) / tables.length,
      });
      await compare(bulk, table, job);
      rows += table.rows;
      held.at({ rows });
    }
  } finally {
    // Ends the transaction too: nothing of it stays.
    await bulk.close();
  }
  return async (change) => {
    await change.execute("update backups set tested_at = now(), test_passed = true where id = $1", [
      backupId,
    ]);
    return { rows };
  };
}

async function compare(
  bulk: Bulk,
  { name, columns, rows, sha256 }: ArchivedTable,
  job: string,
): Promise<void> {
  const list = columns.map((column) => quoted(column.name)).join(", ");
  // The job's id is one of ours, a UUID; COPY takes no parameters.
  const copy = bulk.copyOut(
    `(select ${list} from staging.${quoted(name)} where staged_for = '${job}'::uuid order by staged_for, staged_as)`,
  );
  const hash = createHash("sha256");
  for await (const chunk of copy) hash.update(chunk);
  if (copy.rowCount !== rows || hash.digest("hex") !== sha256) throw new JobFailed("not_as_written");
}
