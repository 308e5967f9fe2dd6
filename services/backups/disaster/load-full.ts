// Loads a full backup into an empty database: the rows, and the counters that triggers maintain, in one
// transaction. It commits only after every byte was compared with the manifest. So the archive is read once,
// and nothing remains of a damaged one.
import { Bulk, quoted } from "../../shared/database/bulk.ts";
import { advanceSequences, loadWithoutDefinitions } from "../../shared/database/bulk-load.ts";
import { StartError } from "../../shared/start-error.ts";
import type { Store } from "../../../mixins/store/store.ts";
import type { ArchivedTable } from "../archive/manifest.ts";
import { readArchive } from "../archive/read-archive.ts";
import { CopySink } from "../copy-sink.ts";
import { tablesOf } from "../table-decisions.ts";
import type { FoundBackup } from "./find-backups.ts";

/** Displays the progress. */
export interface ShowProgress {
  (step: string, percent: number): void;
}

const emptyText = `select exists (select from tenants) or exists (select from users) or exists (select from master_keys)
  or exists (select from audit_entries) as filled`;
const loadingShare = 75;
/** Bytes of rows above which building a table's indexes afterwards is faster than maintaining them. */
const largeBytesMin = 1024 * 1024;

/**
 * @param ownerUrl a database that was migrated to the archive's version
 * @throws StartError when the database is not empty, ArchiveDamaged
 */
export async function loadFull(
  ownerUrl: string,
  store: Store,
  backup: FoundBackup,
  show: ShowProgress,
  signal: AbortSignal,
): Promise<void> {
  const { manifest, data } = backup;
  const { tables } = manifest.contents;
  const whole = tables.reduce((sum, { bytes }) => sum + bytes, 1);
  let read = 0;
  const meter = (bytes: number) => {
    read += bytes;
    show("checking the archive and restoring its rows", (loadingShare * read) / whole);
  };
  const bulk = await Bulk.open(ownerUrl, signal);
  try {
    await bulk.beginChange({ as: "owner" });
    const sink = new LoadingSink(bulk);
    const fill = async () => {
      // Checked under the lock that replaces the policies, so that no other program writes meanwhile.
      const [found] = await bulk.query<{ filled: boolean }>(emptyText);
      if (found?.filled !== false)
        throw new StartError(
          "The database is not empty: a full backup is restored into an empty one, so that nothing is lost.",
        );
      await readArchive(store, manifest, data, sink, meter, signal);
      await finishRows(bulk, backup);
    };
    const filled = tables.map(({ name, bytes }) => ({ name, isLarge: bytes >= largeBytesMin }));
    await loadWithoutDefinitions(
      bulk,
      [...filled, { name: "user_counts", isLarge: false }],
      fill,
      (nth, all) => show("building the indexes", loadingShare + ((99 - loadingShare) * nth) / all),
    );
    await advanceSequences(bulk);
    await bulk.commit();
  } finally {
    await bulk.close();
  }
}

async function finishRows(bulk: Bulk, { masters }: FoundBackup): Promise<void> {
  await bulk.query(`insert into user_counts (tenant_id, role, is_active, users)
    select tenant_id, role, is_active, count(*)::integer from users where deleted_at is null group by 1, 2, 3`);
  // As BOOT_SECRET wraps them now: it may have been changed since the backup.
  for (const [version, wrapped] of masters)
    await bulk.query("update master_keys set wrapped = $2 where version = $1 and wrapped is not null", [
      version,
      wrapped,
    ]);
}

class LoadingSink extends CopySink {
  protected override target({ name, columns }: ArchivedTable): string {
    if (!tablesOf("full").some((table) => table === name)) throw new Error(`no table of an archive: ${name}`);
    return `public.${quoted(name)} (${columns.map((column) => quoted(column.name)).join(", ")})`;
  }
}
