// Brings the logins and their rights to the declared state: roles, memberships, passwords, grants and publishable events.
// Settings of their own are removed (PostgreSQL lets a login change its settings, so a thief may have done so). It runs in one
// transaction and changes only differences, so running processes notice nothing.
import pg from "pg";
import { sqlStates } from "../../services/shared/database/sql-states.ts";
import { errorCode, propertyOf, StartError } from "../../services/shared/start-error.ts";
import { type LoginSettings, passwordOf } from "./application-login.ts";
import { readGrants } from "./grants/catalogue.ts";
import { grantsFor, statementsBetween } from "./grants/plan.ts";
import { everyRoleOf, furtherRolesOf, type Login, loginsOf, rightsOf } from "./logins.ts";
import { scramVerifier } from "./scram.ts";

/** Older versions granted these roles all rights; now they only carry the policies. */
const policyRoles = ["records_app", "records_platform"];
/** Revoking a right on a table also revokes it on its columns, so another round may find more to grant. */
const roundsMax = 3;

const id = (name: string) => pg.escapeIdentifier(name);

export interface LoginsWanted {
  owner: pg.Client;
  database: string;
  settings: LoginSettings;
  bootSecret: string;
  /**
   * The kind of a process that provisions for itself. The passwords of other logins, and unknown logins, stay unchanged, so that
   * it cannot lock out processes with other settings. Undefined: all logins are brought to the settings.
   */
  forKind: string | undefined;
}

/** @throws StartError when the database's name leaves no room for the roles' names */
export async function provisionLogins(wanted: LoginsWanted): Promise<Login[]> {
  const { owner, database, forKind } = wanted;
  const logins = wantedLogins(wanted);
  const mayMakeRoles = await makesRoles(owner);
  await owner.query("begin");
  try {
    const gone = forKind === undefined ? await disableOldLogins(owner, logins) : [];
    for (const login of logins) {
      const isNew = await ensureRoles(owner, database, login);
      if (mayMakeRoles && (isNew || forKind === undefined || forKind === login.kind))
        await setPassword(wanted, login);
    }
    await dropSettings(owner, [...gone, ...logins.flatMap(({ name }) => everyRoleOf(name))]);
    await grantAll(owner, logins, gone);
    await registerLogins(owner, logins);
    await owner.query("commit");
  } catch (error) {
    await owner.query("rollback");
    throw errorCode(error) === sqlStates.insufficientPrivilege ? rolesAreNotOurs(error) : error;
  }
  return logins;
}

/**
 * For a schema of a newer version, which has already granted the rights: sets only the passwords.
 * @throws StartError as provisionLogins
 */
export async function setPasswords(wanted: LoginsWanted): Promise<Login[]> {
  const { owner, forKind } = wanted;
  const logins = wantedLogins(wanted);
  if (!(await makesRoles(owner))) return logins;
  for (const login of logins) {
    if (forKind !== undefined && forKind !== login.kind) continue;
    const { rowCount } = await owner.query("select from pg_roles where rolname = $1", [login.name]);
    if (rowCount !== 0) await setPassword(wanted, login);
  }
  return logins;
}

/** If the owner may not create roles, an administrator has created them with the script of `npm run roles`. */
async function makesRoles(owner: pg.Client): Promise<boolean> {
  const { rows } = await owner.query<{ may: boolean }>(
    "select rolsuper or rolcreaterole as may from pg_roles where rolname = session_user",
  );
  return rows[0]?.may === true;
}

const rolesAreNotOurs = (error: unknown) =>
  new StartError(
    `The login of DATABASE_URL may not bring the roles of the services up to date (${String(propertyOf(error, "message")).split("\n")[0]}): have an administrator run what \`npm run roles\` prints, then migrate again.`,
    { cause: error },
  );

function wantedLogins({ database, settings }: LoginsWanted): Login[] {
  const logins = loginsOf(database, settings.kinds);
  if (logins !== undefined) return logins;
  throw new StartError(`The name of the database ${database} is too long: the logins' names begin with it.`);
}

/** Disables logins that are no longer in the settings. @returns their roles */
async function disableOldLogins(owner: pg.Client, logins: readonly Login[]): Promise<string[]> {
  const { rows } = await owner.query<{ login: string; role: string | null }>(
    `delete from database_logins l where login <> all($1) returning login::text,
       (select rolname::text from pg_roles r where r.rolname = l.login) as role`,
    [logins.map(({ name }) => name)],
  );
  for (const { role } of rows) if (role !== null) await owner.query(`alter role ${id(role)} nologin`);
  const roles = rows.flatMap(({ login }) => everyRoleOf(login));
  for (const role of roles) await setMemberships(owner, role, []);
  return roles;
}

/** @returns whether the login is new */
async function ensureRoles(owner: pg.Client, database: string, login: Login): Promise<boolean> {
  const { name, platformRole } = login;
  const isNew = await ensureRole(owner, name);
  await owner.query(`grant connect on database ${id(database)} to ${id(name)}`);
  const further = furtherRolesOf(login).map(({ role }) => role);
  for (const role of [platformRole, ...further]) if (role !== undefined) await ensureRole(owner, role);
  await setMemberships(owner, name, [
    { role: "records_app", inherit: true, set: false },
    ...(platformRole === undefined ? [] : [{ role: platformRole, inherit: false, set: true }]),
    ...further.map((role) => ({ role, inherit: false, set: true })),
  ]);
  for (const role of everyRoleOf(name)) {
    const policies =
      role === platformRole ? "records_platform" : further.includes(role) ? "records_app" : undefined;
    const wanted = policies === undefined ? [] : [{ role: policies, inherit: true, set: false }];
    if (role !== name) await setMemberships(owner, role, wanted);
  }
  return isNew;
}

/** @returns whether the role was created */
async function ensureRole(owner: pg.Client, name: string): Promise<boolean> {
  const { rowCount } = await owner.query("select from pg_roles where rolname = $1", [name]);
  if (rowCount !== 0) return false;
  await owner.query(`create role ${id(name)} nologin nosuperuser nobypassrls nocreaterole nocreatedb`);
  return true;
}

async function setPassword(
  { owner, database, settings, bootSecret }: LoginsWanted,
  { name, kind }: Login,
): Promise<void> {
  const password = passwordOf(kind, database, settings, bootSecret);
  const verifier = pg.escapeLiteral(await scramVerifier(password));
  await owner.query(`alter role ${id(name)} login password ${verifier}`);
}

interface Membership {
  role: string;
  inherit: boolean;
  set: boolean;
}

async function setMemberships(
  owner: pg.Client,
  member: string,
  wanted: readonly Membership[],
): Promise<void> {
  const { rows } = await owner.query<Membership>(
    `select g.rolname::text as role, m.inherit_option as inherit, m.set_option as set
     from pg_auth_members m join pg_roles g on g.oid = m.roleid join pg_roles r on r.oid = m.member
     where r.rolname = $1`,
    [member],
  );
  const same = (a: Membership) => (b: Membership) =>
    a.role === b.role && a.inherit === b.inherit && a.set === b.set;
  for (const held of rows)
    if (!wanted.some(same(held))) await owner.query(`revoke ${id(held.role)} from ${id(member)}`);
  for (const { role, inherit, set } of wanted)
    if (!rows.some(same({ role, inherit, set })))
      await owner.query(`grant ${id(role)} to ${id(member)} with inherit ${inherit}, set ${set}`);
}

/** Removes settings for all databases: settings of the installation belong to the database or the server. */
async function dropSettings(owner: pg.Client, roles: readonly string[]): Promise<void> {
  const { rows } = await owner.query<{ role: string; database: string | null }>(
    `select r.rolname::text as role, d.datname::text as database from pg_db_role_setting s
     join pg_roles r on r.oid = s.setrole left join pg_database d on d.oid = s.setdatabase
     where r.rolname = any($1::text[])`,
    [roles],
  );
  for (const { role, database } of rows)
    await owner.query(
      `alter role ${id(role)}${database === null ? "" : ` in database ${id(database)}`} reset all`,
    );
}

/** @param gone roles that must have no rights */
async function grantAll(owner: pg.Client, logins: readonly Login[], gone: readonly string[]): Promise<void> {
  const roles = logins.flatMap(({ name }) => everyRoleOf(name));
  const wanted = logins.flatMap(grantsFor);
  for (let round = 0; ; round++) {
    const actual = await readGrants(owner, [...roles, ...gone, ...policyRoles]);
    const statements = statementsBetween(actual, wanted);
    if (statements.length === 0) return;
    if (round === roundsMax)
      throw new Error(`the logins' rights do not become what is declared: ${statements[0]}`);
    await owner.query(statements.join("; "));
  }
}

/** The table that the database checks before it accepts an audit entry, an event or a job (migrations/0016). */
async function registerLogins(owner: pg.Client, logins: readonly Login[]): Promise<void> {
  for (const { name, services } of logins) {
    const rights = rightsOf(services);
    await owner.query(
      `insert into database_logins (login, services, audits, refuses, tells, enqueues) values ($1, $2, $3, $4, $5, $6)
       on conflict (login) do update set services = excluded.services, audits = excluded.audits,
         refuses = excluded.refuses, tells = excluded.tells, enqueues = excluded.enqueues
       where (database_logins.*) is distinct from (excluded.*)`,
      [
        name,
        [...services],
        rights.flatMap(({ audits }) => audits),
        rights.some(({ refuses = false }) => refuses),
        rights.flatMap(({ publishes: tells = [] }) => tells),
        rights.flatMap(({ enqueues = [] }) => enqueues),
      ],
    );
  }
}
