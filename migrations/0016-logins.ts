// What each login may write into the log, tell and enqueue; entries by the database itself where a service left none; and
// only entries that anybody can recompute. What logins may read and change stands in host/database/grants and
// is granted by provisioning, after the migrations.
import { Migration } from "@mikro-orm/migrations";
import { canonical } from "./0016/canonical.ts";
import { entries } from "./0016/entries.ts";
import { internalFunctions, internalRole } from "./0016/internal.ts";
import { traces } from "./0016/traces.ts";

export class Logins extends Migration {
  override up(): void {
    for (const part of [canonical, entries, internalRole, traces, internalFunctions]) this.addSql(part);
  }
}
