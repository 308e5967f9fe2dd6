// Readings are recorded in batches: a function that chains a batch at once.
import { Migration } from "@mikro-orm/migrations";
import { appendEntries } from "./0010/append-entries.ts";

export class AuditBatches extends Migration {
  override up(): void {
    this.addSql(appendEntries);
  }
}
