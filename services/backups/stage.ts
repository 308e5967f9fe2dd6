// Stages an archive's rows in the schema staging under a job, in the transaction of the given connection,
// which decides whether they stay.
import type { KeyObject } from "node:crypto";
import { type Bulk, quoted } from "../shared/database/bulk.ts";
import type { Store } from "../../mixins/store/store.ts";
import type { ArchivedTable, Manifest } from "./archive/manifest.ts";
import { readArchive, type TakenBytes } from "./archive/read-archive.ts";
import { CopySink } from "./copy-sink.ts";
import { assertColumnsFit } from "./archive-fits.ts";
import { tablesOf } from "./table-decisions.ts";

/** @throws JobFailed `schema_unknown` when the archive's columns cannot be staged */
export async function stage(
  bulk: Bulk,
  store: Store,
  { manifest, data }: { manifest: Manifest; data: KeyObject },
  progress: TakenBytes,
  signal: AbortSignal,
): Promise<void> {
  await assertColumnsFit(bulk, manifest.contents);
  await readArchive(
    store,
    manifest,
    data,
    new StagingSink(bulk, tablesOf(manifest.contents.type)),
    progress,
    signal,
  );
}

class StagingSink extends CopySink {
  readonly #known: readonly string[];

  constructor(bulk: Bulk, known: readonly string[]) {
    super(bulk);
    this.#known = known;
  }

  protected override target({ name, columns }: ArchivedTable): string {
    // The manifest is verified; nevertheless only known names are used in SQL.
    if (!this.#known.includes(name)) throw new Error(`no table of an archive: ${name}`);
    return `staging.${quoted(name)} (${columns.map((column) => quoted(column.name)).join(", ")})`;
  }
}
