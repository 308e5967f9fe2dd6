// Checks whether a database can be prepared: its version, its encoding, and the rights of the owner's login. This happens before
// the first write, so that nothing is left half done. The result is one sentence that says what to do.
import type pg from "pg";
import { StartError } from "../../services/shared/start-error.ts";
import type { LoginKind } from "./logins.ts";
import { rolesOf, sharedRoles } from "./roles-script.ts";

/** Earlier versions lack `grant … with inherit`, on which the logins' rights are based. */
export const oldestVersion = 16;

export interface ServerFacts {
  /** PostgreSQL's number: 160004 is 16.4. */
  version: number;
  encoding: string;
  /** Whether lower() handles letters beyond ASCII. */
  foldsCase: boolean;
  readOnly: boolean;
  login: string;
  database: string;
  mayMakeRoles: boolean;
  /** Roles that must be created. */
  missingRoles: readonly string[];
  /** Shared roles that the owner of another installation created: this owner may not grant them. */
  foreignRoles: readonly string[];
  mayMakeSchemas: boolean;
  mayMakeTables: boolean;
  /** Extensions that are not installed on the server. */
  missingExtensions: readonly string[];
}

const where = "docs/deploy.md has the statements, under “A database of your own”";
const extensions = ["pg_trgm", "btree_gin"];

/** @returns the first thing that must be changed, in one sentence; undefined if the database fits */
export function reasonNotToFit(facts: ServerFacts): string | undefined {
  const { version, encoding, login, database, missingRoles, foreignRoles, missingExtensions } = facts;
  const subject = "The database of DATABASE_URL";
  if (version < oldestVersion * 10_000)
    return `${subject} is on PostgreSQL ${shown(version)}: use ${oldestVersion} or later (18 is the one that is tested most).`;
  if (encoding !== "UTF8" || !facts.foldsCase) {
    const found =
      encoding === "UTF8" ? "folds the case of ASCII letters only" : `has the encoding ${encoding}`;
    return `${subject} ${found}: create one with the encoding UTF8 and a locale such as C.UTF-8 or en_US.UTF-8.`;
  }
  if (facts.readOnly)
    return `${subject} takes no changes (a standby, or default_transaction_read_only): name the primary.`;
  if (missingExtensions.length > 0)
    return `${subject} is on a server without ${missingExtensions.join(" and ")}: install PostgreSQL's contrib modules there.`;
  if (missingRoles.length > 0 && !facts.mayMakeRoles)
    return `The login ${login} of DATABASE_URL may make no roles (${missingRoles.length} are missing): give it CREATEROLE, or have an administrator run what \`npm run roles\` prints; ${where}.`;
  if (!facts.mayMakeSchemas || !facts.mayMakeTables)
    return `The login ${login} of DATABASE_URL may make no ${facts.mayMakeSchemas ? "tables" : "schemas"} in the database ${database}: make it the owner; ${where}.`;
  if (foreignRoles.length > 0)
    return `The login ${login} of DATABASE_URL may not pass on ${foreignRoles.join(", ")}, which somebody else made: have an administrator run what \`npm run roles\` prints; ${where}.`;
  return undefined;
}

const shown = (version: number) => `${Math.floor(version / 10_000)}.${version % 10_000}`;

/** @throws StartError */
export async function assertServerFits(owner: pg.Client, logins: readonly LoginKind[]): Promise<void> {
  const reason = reasonNotToFit(await factsOf(owner, logins));
  if (reason !== undefined) throw new StartError(reason);
}

async function factsOf(owner: pg.Client, logins: readonly LoginKind[]): Promise<ServerFacts> {
  const current = await owner.query<{ name: string }>("select current_database()::text as name");
  const { rows } = await owner.query<Omit<ServerFacts, "foldsCase">>(
    `select current_setting('server_version_num')::integer as version, getdatabaseencoding() as encoding,
       current_setting('transaction_read_only')::boolean as "readOnly", session_user::text as login,
       current_database()::text as database, r.rolsuper or r.rolcreaterole as "mayMakeRoles",
       array(select wanted from unnest($1::text[] || $2::text[]) wanted where not exists (select from pg_roles where rolname = wanted)) as "missingRoles",
       -- They are passed on by the first migration, and by nobody later who finds everything in order.
       array(select rolname::text from pg_roles shared where rolname = any($1::text[]) and to_regclass('mikro_orm_migrations') is null
         and not pg_has_role(session_user, shared.oid, 'member with admin option')) as "foreignRoles",
       has_database_privilege(current_database(), 'create') as "mayMakeSchemas",
       coalesce(has_schema_privilege('public', 'create'), false) as "mayMakeTables",
       array(select wanted from unnest($3::text[]) wanted
         where not exists (select from pg_available_extensions where name = wanted)) as "missingExtensions"
     from pg_roles r where r.rolname = session_user`,
    [sharedRoles, rolesOf(current.rows[0]?.name ?? "", logins) ?? [], extensions],
  );
  const [facts] = rows;
  if (facts === undefined) throw new StartError("The database of DATABASE_URL does not know its own login.");
  // Another encoding may not contain the letter.
  const folded =
    facts.encoding === "UTF8" ? await owner.query("select lower('ÄI') = 'äi' as well") : undefined;
  return { ...facts, foldsCase: folded?.rows[0].well === true };
}
