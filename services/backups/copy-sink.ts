// Writes the tables of an archive into a database by COPY.
import { once } from "node:events";
import { finished } from "node:stream/promises";
import type { Bulk } from "../shared/database/bulk.ts";
import type { ArchivedTable } from "./archive/manifest.ts";
import type { TableSink } from "./archive/read-archive.ts";

/** The base class; a subclass names the target table. */
export abstract class CopySink implements TableSink {
  readonly #bulk: Bulk;
  #copy: ReturnType<Bulk["copyIn"]> | undefined;
  /**
   * pg-copy-streams emits the server's error but does not destroy the stream, so the error is checked before
   * each write.
   */
  #failure: Error | undefined;

  constructor(bulk: Bulk) {
    this.#bulk = bulk;
  }

  /** The table with its columns for COPY. The names must be checked against known ones. */
  protected abstract target(table: ArchivedTable): string;

  async begin(table: ArchivedTable): Promise<void> {
    this.#copy = this.#bulk.copyIn(this.target(table));
    // Writers and waiters get the error. Without a listener it would end the process.
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
