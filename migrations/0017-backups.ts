// Backups: what there is of them, the jobs that make and restore them, the freeze of a tenant that is being restored, and
// the place beside the tables where an archive is laid out before anything is changed.
import { Migration } from "@mikro-orm/migrations";
import { catalogue } from "./0017/catalogue.ts";
import { freezes } from "./0017/freezes.ts";
import { staging } from "./0017/staging.ts";

export class Backups extends Migration {
  override up(): void {
    for (const part of [catalogue, freezes, staging]) this.addSql(part);
  }
}
