// Reads the current privileges of roles from the database, in the same form as the declared ones.
import type pg from "pg";
import type { Grant } from "./plan.ts";

const ours = "array['public', 'graphile_worker', 'staging']::name[]";
/** The bare name for tables in `public`, where all of ours are. */
const objectName = "case n.nspname when 'public' then c.relname::text else n.nspname || '.' || c.relname end";

/** Security-definer functions, and functions with explicit privileges; all others may be executed by anybody. */
const functions = `(p.prosecdef or p.proacl is not null) and p.pronamespace = 'public'::regnamespace
  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`;

/** `$1`: names of roles. Returns the privileges of these roles, and those of everybody (role "public") on our objects. */
export const grantsText = `
  with held as (
    select case c.relkind when 'S' then 'sequence' else 'table' end as "on", ${objectName} as object, '' as "column", a.*
    from pg_class c join pg_namespace n on n.oid = c.relnamespace, aclexplode(c.relacl) a
    where n.nspname = any(${ours}) and c.relkind in ('r', 'p', 'v', 'm', 'S')
    union all
    select 'table', ${objectName}, f.attname::text, a.*
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute f on f.attrelid = c.oid and not f.attisdropped, aclexplode(f.attacl) a
    where n.nspname = any(${ours}) and c.relkind in ('r', 'p', 'v', 'm')
    union all
    select 'function', p.proname::text, '', a.*
    from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where ${functions}
    union all
    select 'schema', n.nspname::text, '', a.* from pg_namespace n, aclexplode(n.nspacl) a where n.nspname = any(${ours})
  )
  select coalesce(r.rolname::text, 'public') as role, h."on", h.object, h."column", lower(h.privilege_type) as privilege
  from held h left join pg_roles r on r.oid = h.grantee
  where r.rolname = any($1::text[]) or (h.grantee = 0 and h."on" <> 'schema' and h.object not like 'graphile_worker.%')`;

/** @returns the current grants of the roles, as by `grantsText` */
export async function readGrants(client: pg.ClientBase, roles: readonly string[]): Promise<Grant[]> {
  return (await client.query<Grant>(grantsText, [roles])).rows;
}

/** @returns all objects that can have privileges, except sequences of columns: the right to insert includes them */
export async function readObjects(client: pg.ClientBase): Promise<{ on: string; object: string }[]> {
  const { rows } = await client.query<{ on: string; object: string }>(
    `select case c.relkind when 'S' then 'sequence' else 'table' end as "on", ${objectName} as object
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p', 'v', 'm', 'S') and not exists (select from pg_depend d
       where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i') and c.relkind = 'S')
     union all select 'function', p.proname::text from pg_proc p where ${functions} order by 1, 2`,
  );
  return rows;
}
