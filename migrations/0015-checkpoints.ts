// Signed checkpoints of the audit log, on their way out of the database.
import { Migration } from "@mikro-orm/migrations";
import { checkpoints } from "./0015/checkpoints.ts";

export class Checkpoints extends Migration {
  override up(): void {
    this.addSql(checkpoints);
  }
}
