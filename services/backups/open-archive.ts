// The archive that a job or a plan is about: its manifest, proved, and its key. What is another installation's, or another
// tenant's, or of another version, is refused here, before anything of it is read.
import { platform } from "../shared/database/scope.ts";
import type { Database } from "../shared/database/database.ts";
import { unknownMigrations } from "../shared/database/schema-age.ts";
import type { Store } from "../../mixins/store/store.ts";
import type { ArchiveKeyring } from "./ask-archive-keys.ts";
import { openManifest, type OpenArchive } from "./archive/open-manifest.ts";
import { stepsSince } from "./archive-schema.ts";
import { JobFailed } from "./job-failed.ts";
import type { RowOf } from "../shared/database/row.ts";

export interface ArchiveSource {
  store: Store;
  keyring: ArchiveKeyring;
  /** Asked where the archive's schema is unknown: a newer one beside which this program works is the database's too. */
  database: Pick<Database, "read">;
}

/** @returns with the archive what brings its rows up to date once they are laid out */
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
