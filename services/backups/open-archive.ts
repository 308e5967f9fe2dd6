// Opens the archive of a job or plan: its verified manifest and key. An archive of another installation,
// tenant or unsupported version is refused before its data is read.
import { platform } from "../shared/database/scope.ts";
import type { Database } from "../shared/database/database.ts";
import { unknownMigrations } from "../shared/database/schema-age.ts";
import type { Store } from "../../mixins/store/store.ts";
import type { ArchiveKeyring } from "./archive-keyring.ts";
import { openManifest, type OpenArchive } from "./archive/open-manifest.ts";
import { stepsSince } from "./archive-schema.ts";
import { JobFailed } from "./job-failed.ts";
import type { RowOf } from "../shared/database/row.ts";

/** The sources of an archive. */
export interface ArchiveSource {
  store: Store;
  keyring: ArchiveKeyring;
  /**
   * Used when the archive's schema is unknown: the database may have been migrated by a newer compatible
   * version.
   */
  database: Pick<Database, "read">;
}

/**
 * @returns the archive, and the SQL steps that convert its staged rows to the current schema
 * @throws JobFailed, ArchiveDamaged, StoreError
 */
export async function openArchive(
  { store, keyring, database }: ArchiveSource,
  wanted: { backupId: string; tenantId: number | null },
  signal: AbortSignal,
): Promise<OpenArchive & { steps: string[] }> {
  const { key, installation } = await keyring.open(wanted.backupId);
  const open = await openManifest(store, wanted.backupId, key, signal);
  const { contents } = open.manifest;
  if (contents.installation !== installation) throw new JobFailed("foreign_installation");
  const schema = contents.schema_version;
  const steps = stepsSince(
    schema,
    unknownMigrations([schema]).length > 0 ? await laterThanOurs(database) : [],
  );
  if (contents.tenant_id !== wanted.tenantId) throw new JobFailed("archive_damaged");
  return { ...open, steps };
}

async function laterThanOurs(database: ArchiveSource["database"]): Promise<string[]> {
  const rows = await database.read<RowOf<"mikro_orm_migrations", "name">>(platform, {
    name: "backups.migrations",
    text: "select name from mikro_orm_migrations",
    values: [],
  });
  return unknownMigrations(rows.map(({ name }) => name));
}
