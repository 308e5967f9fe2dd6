// What roles may do in the database as it is, in the same terms as what they should.
import type pg from "pg";
import type { Grant } from "./plan.ts";

const ours = "array['public', 'graphile_worker', 'staging']::name[]";
/** A table by its bare name, as all of ours are in `public`. */
const objectName = "case n.nspname when 'public' then c.relname::text else n.nspname || '.' || c.relname end";

/** Those that may more than their caller, and those that were kept from everybody; the others do what anybody may. */
const functions = `(p.prosecdef or p.proacl is not null) and p.pronamespace = 'public'::regnamespace
  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')`;

/** `$1`: names of roles. What these have been granted themselves, and what everybody has (role "public") of what is ours. */
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

export async function readGrants(client: pg.ClientBase, roles: readonly string[]): Promise<Grant[]> {
  return (await client.query<Grant>(grantsText, [roles])).rows;
}

/** What there is to have rights to, but for sequences of columns: who may insert may draw from them. */
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
