// schema_compatibility: beside which version of the program, at the oldest, each migration works, and which version ran it. A
// program that meets a migration it does not know asks here whether it may go on (services/shared/database/schema-age.ts).
// Life: a row is written in the transaction of its migration, for this one and all that follow, and stays for ever. It is of the
// installation, and every login may read it.
import { Migration } from "@mikro-orm/migrations";

export class Compatibility extends Migration {
  override up(): void {
    this.addSql(`create table schema_compatibility (
      migration text primary key,
      oldest text not null check (oldest ~ '^\\d+\\.\\d+\\.\\d+$'),
      migrated_by text not null
    )`);
  }
}
