// Refuses to serve on a database whose second wall is not standing: the login must own nothing and bypass nothing,
// every table with tenant rows must force row-level security, and a foreign row must really be invisible.
import { StartError } from "../embedded/start-error.ts";
import { platform } from "./scope.ts";
import type { Database } from "./database.ts";

const noTenant = 0;

export async function assertTenancyWall(database: Database): Promise<void> {
  const scope = { tenantId: noTenant };
  const role = await database.readOne<{ name: string; privileged: boolean; owned: number }>(scope, {
    text: `select current_user as name, rolsuper or rolbypassrls as privileged,
      (select count(*)::integer from pg_class where relowner = r.oid) as owned
      from pg_roles r where rolname = current_user`,
    values: [],
  });
  if (role === undefined || role.privileged) {
    throw new StartError(
      `The database login ${role?.name ?? "?"} may bypass row-level security: use one that may not.`,
    );
  }
  if (role.owned > 0)
    throw new StartError(`The database login ${role.name} owns tables: use one that owns none.`);
  const open = await database.read<{ name: string }>(scope, {
    text: `select c.relname as name from pg_class c
      where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
        and (c.relname = 'tenants' or exists (select from pg_attribute a
          where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
        and not (c.relrowsecurity and c.relforcerowsecurity)`,
    values: [],
  });
  if (open.length > 0) {
    throw new StartError(
      `Row-level security is not forced on ${open.map((table) => table.name).join(", ")}.`,
    );
  }
  await assertForeignRowInvisible(database);
}

async function assertForeignRowInvisible(database: Database): Promise<void> {
  const count = "select count(*)::integer as rows from (select from tenants limit 1) sample";
  const all = await database.readOne<{ rows: number }>(platform, { text: count, values: [] });
  const foreign = await database.readOne<{ rows: number }>(
    { tenantId: noTenant },
    { text: count, values: [] },
  );
  if (foreign?.rows !== 0) throw new StartError("Rows of another tenant are visible to the database login.");
  if (all === undefined) throw new StartError("The platform scope cannot read the tenants.");
}
