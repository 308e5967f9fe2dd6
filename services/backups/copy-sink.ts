// Writing an archive's tables into a database as they come, by COPY.
import { once } from "node:events";
import { finished } from "node:stream/promises";
import type { Bulk } from "../shared/database/bulk.ts";
import type { ArchivedTable } from "./archive/manifest.ts";
import type { TableSink } from "./archive/read-archive.ts";

export abstract class CopySink implements TableSink {
  readonly #bulk: Bulk;
  #copy: ReturnType<Bulk["copyIn"]> | undefined;
  /** pg-copy-streams emits what the server says, but does not end the stream by it: another write would fail by itself. */
  #failure: Error | undefined;

  constructor(bulk: Bulk) {
    this.#bulk = bulk;
  }

  /** The table and its columns as COPY takes them, of names that are known, not merely sent. */
  protected abstract target(table: ArchivedTable): string;

  async begin(table: ArchivedTable): Promise<void> {
    this.#copy = this.#bulk.copyIn(this.target(table));
    // Whoever writes or waits meets the error; without a listener it would end the process.
    this.#copy.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  async part(bytes: Buffer): Promise<void> {
    const copy = this.#copy;
    if (copy === undefined) throw new Error("a part before its table");
    this.#assertWell();
    if (!copy.write(bytes)) await once(copy, "drain");
  }

  async end(): Promise<void> {
    this.#assertWell();
    this.#copy?.end();
    if (this.#copy !== undefined) await finished(this.#copy);
  }

  #assertWell(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
