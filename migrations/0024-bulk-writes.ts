// What a statement over many rows pays once instead of for each row.
import { Migration } from "@mikro-orm/migrations";
import { bulkWrites } from "./0024/bulk-writes.ts";

export class BulkWrites extends Migration {
  override up(): void {
    this.addSql(bulkWrites);
  }
}
