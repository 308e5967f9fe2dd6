// The script that an administrator of the server runs once if the database owner may not create roles, or if the owner of another
// installation created the shared ones. It creates the roles and their memberships, and sets the logins' passwords as SCRAM
// verifiers. It may be run again, and changes no role of another database.
import pg from "pg";
import { StartError } from "../../services/shared/start-error.ts";
import { type LoginSettings, passwordOf } from "./application-login.ts";
import { everyRoleOf, furtherRolesOf, type Login, loginsOf } from "./logins.ts";
import { scramVerifier } from "./scram.ts";

/** Roles of the whole server: the policies of every installation refer to them. */
export const sharedRoles = [
  "records_app",
  "records_platform",
  "records_search",
  "records_chain",
  "records_internal",
] as const;

export interface RolesScriptOptions {
  database: string;
  /** The login of DATABASE_URL. */
  owner: string;
  settings: LoginSettings;
  bootSecret: string | undefined;
}

const id = (name: string) => pg.escapeIdentifier(name);

/** @returns all roles of an installation except the shared ones; undefined if the database's name is too long for them */
export function rolesOf(database: string, kinds: LoginSettings["kinds"]): string[] | undefined {
  return loginsOf(database, kinds)?.flatMap((login) => [
    login.name,
    ...(login.platformRole === undefined ? [] : [login.platformRole]),
    ...furtherRolesOf(login).map(({ role }) => role),
  ]);
}

/** @throws StartError when the database's name is too long, or a password is neither set nor follows from BOOT_SECRET */
export async function rolesScript(options: RolesScriptOptions): Promise<string> {
  const { database, owner, settings } = options;
  const logins = loginsOf(database, settings.kinds);
  if (logins === undefined)
    throw new StartError(
      `The name of the database ${database} is too long: the logins' names begin with it.`,
    );
  const ownRoles = rolesOf(database, settings.kinds) ?? [];
  const made = [...sharedRoles, ...ownRoles].map(makeRole);
  // The same membership that PostgreSQL grants to the creator of a role: the owner may grant the role, but does not inherit its
  // rights.
  const lent = [...sharedRoles, ...ownRoles].map(
    (role) => `grant ${id(role)} to ${id(owner)} with admin true, inherit false, set false;`,
  );
  const passwords = await Promise.all(logins.map((login) => setPassword(login, options)));
  return [
    `-- For the database ${database}, whose owner is ${owner}. Run it as an administrator: psql --no-psqlrc -v ON_ERROR_STOP=1 -f roles.sql`,
    "begin;",
    ...made,
    ...lent,
    ...logins.flatMap(memberships),
    ...passwords,
    "commit;",
    "",
  ].join("\n");
}

const makeRole = (role: string) =>
  `do $$ begin if not exists (select from pg_roles where rolname = ${pg.escapeLiteral(role)}) then create role ${id(role)} nologin nosuperuser nobypassrls nocreaterole nocreatedb; end if; end $$;`;

/** The same memberships as in provisioning (provision-logins.ts). */
function memberships(login: Login): string[] {
  const { name, platformRole } = login;
  const grant = (role: string, member: string, how: string) =>
    `grant ${id(role)} to ${id(member)} with ${how};`;
  const takenUp = "inherit false, set true";
  const inherited = "inherit true, set false";
  const further = furtherRolesOf(login).map(({ role }) => role);
  // Roles that the login had with other services.
  const gone = everyRoleOf(name).filter((role) => ![name, platformRole, ...further].includes(role));
  return [
    ...gone.map(
      (role) =>
        `do $$ begin if exists (select from pg_roles where rolname = ${pg.escapeLiteral(role)}) then revoke ${id(role)} from ${id(name)}; end if; end $$;`,
    ),
    grant("records_app", name, inherited),
    ...(platformRole === undefined
      ? []
      : [grant(platformRole, name, takenUp), grant("records_platform", platformRole, inherited)]),
    ...further.flatMap((role) => [grant(role, name, takenUp), grant("records_app", role, inherited)]),
  ];
}

async function setPassword(
  { name, kind }: Login,
  { database, settings, bootSecret }: RolesScriptOptions,
): Promise<string> {
  const verifier = await scramVerifier(passwordOf(kind, database, settings, bootSecret));
  return `alter role ${id(name)} login password ${pg.escapeLiteral(verifier)};`;
}
