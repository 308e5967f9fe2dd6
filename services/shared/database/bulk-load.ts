// Fills an empty database fast, as its owner, in one transaction. Triggers, foreign keys and indexes are dropped, forced policies
// are switched off, the rows are copied in, and then everything is created again, which is when PostgreSQL checks the rows.
import { type Bulk, quoted } from "./bulk.ts";

interface Definition {
  drop: string;
  create: string;
}

export interface TableToFill {
  name: string;
  /** Whether it has many rows. To drop and rebuild its indexes pays off only for a large table. */
  isLarge: boolean;
}

/**
 * @param tables the tables to fill
 * @param fill copies the rows, and does everything else before the definitions are created again
 * @param putBack called after each definition that was created again, with its number and their total
 */
export async function loadWithoutDefinitions(
  bulk: Bulk,
  tables: readonly TableToFill[],
  fill: () => Promise<void>,
  putBack: (nth: number, all: number) => void,
): Promise<void> {
  const names = tables.map(({ name }) => name);
  const small = tables.filter(({ isLarge }) => !isLarge).map(({ name }) => name);
  const aside = await definitions(
    bulk,
    names.filter((name) => !small.includes(name)),
  );
  const forced = await bulk.query<{ name: string }>(
    "select relname as name from pg_class where relforcerowsecurity and relnamespace = 'public'::regnamespace and relname = any($1)",
    [names],
  );
  for (const { name } of forced)
    await bulk.query(`alter table public.${quoted(name)} no force row level security`);
  for (const table of small) await bulk.query(`alter table public.${quoted(table)} disable trigger user`);
  for (const { drop } of aside) await bulk.query(drop);
  await fill();
  await bulk.query("select set_config('maintenance_work_mem', '256MB', true)");
  for (const [nth, { create }] of aside.toReversed().entries()) {
    await bulk.query(create);
    putBack(nth + 1, aside.length);
  }
  for (const table of small) await bulk.query(`alter table public.${quoted(table)} enable trigger user`);
  for (const { name } of forced)
    await bulk.query(`alter table public.${quoted(name)} force row level security`);
}

/** Runs work of the owner on tables whose policies also apply to the owner; within one transaction. */
export async function withoutForce(
  bulk: Bulk,
  tables: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  for (const table of tables)
    await bulk.query(`alter table public.${quoted(table)} no force row level security`);
  await work();
  for (const table of tables)
    await bulk.query(`alter table public.${quoted(table)} force row level security`);
}

const ofTables = `select t.oid from pg_class t where t.relnamespace = 'public'::regnamespace and t.relname = any($1::name[])`;

/**
 * In the order in which they can be dropped. The foreign keys of all tables are dropped, because they refer to each other in
 * circles; everything else only for large tables.
 */
async function definitions(bulk: Bulk, large: readonly string[]): Promise<Definition[]> {
  const foreignKeys = await constraints(bulk, "contype = 'f' and conparentid = 0", []);
  // Without the constraints that a view groups by: the view would have to be dropped first.
  const unique = await constraints(
    bulk,
    `contype in ('p', 'u') and conrelid in (${ofTables}) and not exists (select from pg_depend d
       where d.refclassid = 'pg_constraint'::regclass and d.refobjid = c.oid and d.deptype = 'n')`,
    [large],
  );
  return [...foreignKeys, ...(await triggers(bulk, large)), ...unique, ...(await indexes(bulk, large))];
}

async function constraints(bulk: Bulk, which: string, values: readonly unknown[]): Promise<Definition[]> {
  const found = await bulk.query<{ name: string; owner: string; definition: string }>(
    `select quote_ident(conname) as name, conrelid::regclass::text as owner, pg_get_constraintdef(oid) as definition
     from pg_constraint c where connamespace = 'public'::regnamespace and ${which} order by oid`,
    values,
  );
  return found.map(({ name, owner, definition }) => ({
    drop: `alter table ${owner} drop constraint ${name}`,
    create: `alter table ${owner} add constraint ${name} ${definition}`,
  }));
}

/**
 * Triggers of large tables are dropped, because disabling them is not enough: COPY writes row by row into a table that merely has
 * a trigger before each row, and keeps a copy of all rows for a trigger that reads the new rows of a statement.
 */
async function triggers(bulk: Bulk, large: readonly string[]): Promise<Definition[]> {
  const found = await bulk.query<{ name: string; owner: string; definition: string }>(
    `select quote_ident(tgname) as name, tgrelid::regclass::text as owner, pg_get_triggerdef(oid) as definition
     from pg_trigger where not tgisinternal and tgenabled = 'O' and tgrelid in (${ofTables}) order by oid`,
    [large],
  );
  return found.map(({ name, owner, definition }) => ({
    drop: `drop trigger ${name} on ${owner}`,
    create: definition,
  }));
}

async function indexes(bulk: Bulk, large: readonly string[]): Promise<Definition[]> {
  const found = await bulk.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
     from pg_index i where i.indrelid in (${ofTables}) and not exists (select from pg_constraint k
       where k.conindid = i.indexrelid) order by i.indexrelid`,
    [large],
  );
  return found.map(({ name, definition }) => ({ drop: `drop index ${name}`, create: definition }));
}

/**
 * Ids that were given after the backup and are known outside must not be given a second time; other archives may hold some too.
 */
const gap = 1_000_000;

/** Advances the sequences, so that new rows do not get the ids of the copied rows. */
export async function advanceSequences(bulk: Bulk): Promise<void> {
  const owned = await bulk.query<{ sequence: string; owner: string; part: string }>(
    `select d.objid::regclass::text as sequence, d.refobjid::regclass::text as owner, quote_ident(a.attname) as part
     from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
     join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
     where d.deptype in ('a', 'i') and s.relnamespace = 'public'::regnamespace and d.classid = 'pg_class'::regclass`,
  );
  for (const { sequence, owner, part } of owned)
    await bulk.query(
      `select setval('${sequence}'::regclass, m.max + ${gap}) from (select max(${part}) as max from ${owner}) m where m.max is not null`,
    );
}
