// The archives of earlier versions that are kept as test data, one folder per schema, each with the secret that opens it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What must be there again when the archives are restored. */
export interface Holds {
  full: string;
  tenant: string;
  subdomain: string;
  email: string;
  patient_id: number;
  full_name: string;
  record: string;
}

export interface KeptArchive extends Holds {
  schema: string;
  /** Holds the store, as DATA_DIR does. */
  folder: string;
  bootSecret: string;
}

/** Oldest first. */
export const keptArchives: readonly KeptArchive[] = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort()
  .map((schema) => {
    const folder = join(import.meta.dirname, schema);
    const holds: Holds = JSON.parse(readFileSync(join(folder, "holds.json"), "utf8"));
    return { ...holds, schema, folder, bootSecret: readFileSync(join(folder, "boot-secret"), "utf8") };
  });
