// Tenants with many users, put in by the owner at the database's own speed. Triggers stay on (the users' counters and
// the foreign keys are real); the plain indexes are built after the rows, as a restore does.
import type pg from "pg";
import { formatPhc, currentCost, saltBytes, tagBytes } from "../../services/shared/passwords/phc.ts";
import { argon2Sync, randomBytes } from "node:crypto";
import { nameFunctions, rareName } from "./names.ts";

export const password = "Bench-Sesame-4711";
/** The first users of a tenant are administrators, who may list. */
export const administrators = 32;
export const rareNameUsers = 5;
const indexesLaterFrom = 50_000;

export interface Tenant {
  id: number;
  subdomain: string;
}

/** An entry for each row, as the database writes one for what nobody recorded, would outgrow the log of any real clinic. */
const traces = (table: "users" | "tenants", verb: "enable" | "disable") =>
  `alter table ${table} ${verb} trigger trace`;

/** The e-mail of a tenant's n-th user, from 1. */
export const emailOf = (n: number) => `user${n}@clinic.example`;

export async function createTenants(owner: pg.Client, names: readonly string[]): Promise<Tenant[]> {
  await owner.query(traces("tenants", "disable"));
  const { rows } = await owner.query<Tenant>(
    `insert into tenants (name, subdomain) select 'Clinic ' || n, n from unnest($1::text[]) n returning id, subdomain`,
    [names],
  );
  await owner.query(traces("tenants", "enable"));
  await owner.query(
    `insert into departments (tenant_id, name)
      select id, name from unnest($1::integer[]) id, unnest(array['Cardiology','Surgery','Oncology','Paediatrics']) name`,
    [rows.map(({ id }) => id)],
  );
  return rows;
}

/** The same number of users for each tenant, row after row in turn, as they would come in over the years. */
export async function addUsers(owner: pg.Client, tenants: readonly Tenant[], each: number): Promise<void> {
  const many = tenants.length * each >= indexesLaterFrom;
  await owner.query("set synchronous_commit = off; set maintenance_work_mem = '256MB'");
  const indexes = many ? await dropIndexes(owner) : [];
  await owner.query(nameFunctions);
  await owner.query(traces("users", "disable"));
  await owner.query(insertUsers, [tenants.map(({ id }) => id), each, hashOfPassword(), rareName]);
  await owner.query(traces("users", "enable"));
  for (const index of indexes) await owner.query(index);
  await owner.query("vacuum (analyze) users");
  await owner.query("vacuum (analyze) user_counts");
  await owner.query("analyze");
  await owner.query("checkpoint");
}

const insertUsers = `
insert into users (tenant_id, department_id, email, full_name, role, is_active, approved_at, email_verified, password_hash)
select t.id, t.departments[1 + n % 4],
  case when n <= 1000 then 'user' || n else lower(p.first || '.' || p.last) || n end || '@clinic.example',
  p.first || ' ' || p.last,
  case when n <= ${administrators} then 'admin'
    else (array['doctor','nurse','nurse','registrar','doctor','nurse','head_doctor'])[1 + n % 7] end,
  n <= 1000 or n % 50 <> 0, now(), true, $3
from generate_series(1, $2::integer) n
cross join (
  select id, row_number() over () as place,
    (select array_agg(d.id) from departments d where d.tenant_id = asked.id) as departments
  from unnest($1::integer[]) as asked(id)
) t
cross join lateral (
  select pg_temp.first_name(n + t.place::integer) as first,
    case when n % ($2 / ${rareNameUsers}) = $2 / ${rareNameUsers * 2} then $4
      else pg_temp.last_name(n * 131 + t.place::integer) end as last
) p
order by n, t.place`;

/** @returns the statements that make them again */
async function dropIndexes(owner: pg.Client): Promise<string[]> {
  const { rows } = await owner.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = 'users'::regclass
        and not exists (select from pg_constraint where conindid = indexrelid)`,
  );
  for (const { name } of rows) await owner.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

/** One hash for all: what a sign-in costs does not depend on whose it is. */
function hashOfPassword(): string {
  const salt = Uint8Array.from(randomBytes(saltBytes));
  const { memoryKib: memory, passes, lanes: parallelism } = currentCost;
  const tag = argon2Sync("argon2id", {
    message: password,
    nonce: salt,
    memory,
    passes,
    parallelism,
    tagLength: tagBytes,
  });
  return formatPhc({ ...currentCost, salt, tag: Uint8Array.from(tag) });
}
