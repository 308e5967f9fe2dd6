// Laying out an archive's rows in the schema staging, under a job: in the transaction of the connection that is given, which
// decides whether they stay.
import { once } from "node:events";
import { finished } from "node:stream/promises";
import type { KeyObject } from "node:crypto";
import { type Bulk, quoted } from "../shared/database/bulk.ts";
import type { Store } from "../shared/store/store.ts";
import type { ArchivedTable, Manifest } from "./archive/manifest.ts";
import { readArchive, type TableSink } from "./archive/read-archive.ts";
import { assertFits } from "./archive-schema.ts";
import { tablesOf } from "./table-decisions.ts";

/** @throws JobFailed when the archive's columns are not ones that can be laid out */
export async function stage(
  bulk: Bulk,
  store: Store,
  { manifest, data }: { manifest: Manifest; data: KeyObject },
  progress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  await assertFits(bulk, manifest.contents);
  await readArchive(
    store,
    manifest,
    data,
    new StagingSink(bulk, tablesOf(manifest.contents.type)),
    progress,
    signal,
  );
}

class StagingSink implements TableSink {
  readonly #bulk: Bulk;
  readonly #known: readonly string[];
  #copy: ReturnType<Bulk["copyIn"]> | undefined;

  constructor(bulk: Bulk, known: readonly string[]) {
    this.#bulk = bulk;
    this.#known = known;
  }

  async begin({ name, columns }: ArchivedTable): Promise<void> {
    // The manifest is proved; its names still become SQL only by being names of ours.
    if (!this.#known.includes(name)) throw new Error(`no table of an archive: ${name}`);
    const list = columns.map((column) => quoted(column.name)).join(", ");
    this.#copy = this.#bulk.copyIn(`staging.${quoted(name)} (${list})`);
    // Whoever writes or waits meets the error; without a listener it would end the process.
    this.#copy.on("error", () => {});
  }

  async part(bytes: Buffer): Promise<void> {
    const copy = this.#copy;
    if (copy === undefined) throw new Error("a part before its table");
    if (copy.errored !== null) throw copy.errored;
    if (!copy.write(bytes)) await once(copy, "drain");
  }

  async end(): Promise<void> {
    this.#copy?.end();
    if (this.#copy !== undefined) await finished(this.#copy);
  }
}
