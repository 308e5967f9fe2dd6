// The first tables. Roles: `records_app` (what services run as: sees one tenant's rows), `records_platform` (work across
// tenants, taken up loudly by SET LOCAL ROLE), `records_search` (owns the one search function). None of them owns a
// table, is a superuser or bypasses row-level security; FORCE holds the owner to the policies too.
import { Migration } from "@mikro-orm/migrations";
import { journal } from "./0001/journal.ts";
import { people } from "./0001/people.ts";
import { policies, searchOwner } from "./0001/policies.ts";
import { roles } from "./0001/roles.ts";
import { signIn, views } from "./0001/sign-in.ts";

export class Foundation extends Migration {
  override up(): void {
    for (const part of [roles, people, signIn, journal, policies, views, searchOwner]) this.addSql(part);
  }
}
