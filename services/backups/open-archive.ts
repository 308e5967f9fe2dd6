// The archive that a job or a plan is about: its manifest, proved, and its key. What is another installation's, or another
// tenant's, or of another version, is refused here, before anything of it is read.
import type { Store } from "../shared/store/store.ts";
import type { ArchiveKeyring } from "./ask-archive-keys.ts";
import { openManifest, type OpenArchive } from "./archive/open-manifest.ts";
import { stepsSince } from "./archive-schema.ts";
import { JobFailed } from "./job-failed.ts";

/** @returns with the archive what brings its rows up to date once they are laid out */
export async function openArchive(
  store: Store,
  keyring: ArchiveKeyring,
  wanted: { backupId: string; tenantId: number | null },
  signal: AbortSignal,
): Promise<OpenArchive & { steps: string[] }> {
  const { key, installation } = await keyring.open(wanted.backupId);
  const open = await openManifest(store, wanted.backupId, key, signal);
  const { contents } = open.manifest;
  if (contents.installation !== installation) throw new JobFailed("foreign_installation");
  const steps = stepsSince(contents.schema_version);
  if (contents.tenant_id !== wanted.tenantId) throw new JobFailed("archive_damaged");
  return { ...open, steps };
}
