// Refuses to start if row-level security does not isolate tenants. The login must own nothing, bypass nothing, and not be able to
// become a role that does. Every table with tenant rows must force row-level security and show this login the rows of one tenant
// by exactly one policy. No view may bypass it, and no security-definer function may be redirected by its caller's search path.
// Finally a row of another tenant must really be invisible.
import { StartError } from "../start-error.ts";
import type { Database } from "./database.ts";
import { platform } from "./scope.ts";

const noTenant = { tenantId: 0 };

/** @throws StartError with the first fault that was found */
export async function assertTenantIsolation(database: Database): Promise<void> {
  await assertPlainLogin(database);
  const [fault] = await isolationFaults(database);
  if (fault !== undefined) throw new StartError(sentences[fault.part](fault.names));
  await assertForeignRowInvisible(database);
}

const sentences = {
  unforced: (names: string) => `Row-level security is not forced on ${names}.`,
  altered: (names: string) => `The policy that shows one tenant's rows is not as it was on ${names}.`,
  views: (names: string) => `Row-level security does not reach through ${names}.`,
  gullible: (names: string) => `A caller's temporary tables could be taken for ours by ${names}.`,
};

export interface IsolationFault {
  part: keyof typeof sentences;
  /** Names of tables, views or functions. */
  names: string;
}

/** @returns what is wrong with the isolation in the database, independent of the login */
export async function isolationFaults(database: Database): Promise<IsolationFault[]> {
  const looked: readonly [IsolationFault["part"], string][] = [
    ["unforced", unforcedTables],
    ["altered", alteredPolicies],
    ["views", ownersViews],
    ["gullible", redirectableFunctions],
  ];
  const faults: IsolationFault[] = [];
  for (const [part, text] of looked) {
    const names = await namesOf(database, text);
    if (names !== "") faults.push({ part, names });
  }
  return faults;
}

async function assertPlainLogin(database: Database): Promise<void> {
  const role = await database.readOne<{ name: string; privileged: boolean; owns: boolean }>(noTenant, {
    text: `select current_user as name,
      exists (select from pg_roles r where (r.rolsuper or r.rolbypassrls) and pg_has_role(r.oid, 'member')) as privileged,
      exists (select from pg_class c where pg_has_role(c.relowner, 'member')) as owns`,
    values: [],
  });
  if (role === undefined || role.privileged) {
    throw new StartError(
      `The database login ${role?.name ?? "?"} may bypass row-level security: use one that may not.`,
    );
  }
  if (role.owns) throw new StartError(`The database login ${role.name} owns tables: use one that owns none.`);
}

async function namesOf(database: Database, text: string): Promise<string> {
  const found = await database.read<{ name: string }>(noTenant, { text, values: [] });
  return found.map(({ name }) => name).join(", ");
}

const tenantTables = `select c.oid, c.relname as name, c.relrowsecurity and c.relforcerowsecurity as forced,
    case c.relname when 'tenants' then 'id' else 'tenant_id' end as tenant_column
  from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
    and (c.relname = 'tenants' or exists (select from pg_attribute a
      where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))`;

const unforcedTables = `select name from (${tenantTables}) t where not forced order by name`;

/** Policies are combined by OR, so any additional policy, however narrow it looks, could open a table. */
const alteredPolicies = `select name from (${tenantTables}) t where (
    select array_agg(p.polpermissive and p.polcmd = '*' and p.polwithcheck is null
      and pg_get_expr(p.polqual, p.polrelid) = format('(%I = app_tenant())', t.tenant_column))
    from pg_policy p where p.polrelid = t.oid and exists (
      select from unnest(p.polroles) holder where holder = 0 or pg_has_role(holder, 'usage'))
  ) is distinct from array[true] order by name`;

/** Such a view reads with the rights of its owner. */
const ownersViews = `select relname as name from pg_class where relnamespace = 'public'::regnamespace
    and (relkind = 'm' or relkind = 'v' and not coalesce(reloptions @> '{security_invoker=true}', false)) order by relname`;

/** A search path that does not name pg_temp searches it first. */
const redirectableFunctions = `select proname as name from pg_proc p where prosecdef and pronamespace = 'public'::regnamespace
    and not coalesce(proconfig @> array['search_path=pg_catalog, public, pg_temp'], false)
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  order by name`;

async function assertForeignRowInvisible(database: Database): Promise<void> {
  const text = `select count(*)::integer as rows,
      exists (select from pg_roles where rolname = session_user || '_platform') as "worksAbove"
    from (select id from tenants limit 1) sample`;
  const foreign = await database.readOne<{ rows: number; worksAbove: boolean }>(noTenant, {
    text,
    values: [],
  });
  if (foreign?.rows !== 0) throw new StartError("Rows of another tenant are visible to the database login.");
  // A login whose services work for one tenant at a time has no platform role.
  const all = foreign.worksAbove ? await database.readOne(platform, { text, values: [] }) : foreign;
  if (all === undefined) throw new StartError("The platform scope cannot read the tenants.");
}
