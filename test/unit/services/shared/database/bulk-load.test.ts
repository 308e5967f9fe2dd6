// Whatever is laid aside while a lost database is filled is put back: a restored one must be no other than a new one.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { Bulk } from "../../../../../services/shared/database/bulk.ts";
import { loadWithoutDefinitions } from "../../../../../services/shared/database/bulk-load.ts";
import { startDemoDatabase, type TestDatabase } from "../../../../support/service.ts";

let database: TestDatabase;
let bulk: Bulk;
beforeAll(async () => {
  database = await startDemoDatabase();
  bulk = await Bulk.open(database.url, new AbortController().signal);
});
afterAll(async () => {
  await bulk?.close();
  await database?.stop();
});

/** How each is defined, and whether it works, by kind and name. PostgreSQL drops doubled brackets when it reads its own words. */
const structure = `
select 'constraint ' || conrelid::regclass || '.' || conname as name,
  concat_ws(' ', pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint')) as "as"
from pg_constraint where connamespace = 'public'::regnamespace
union all
select 'index ' || indrelid::regclass || '.' || indexrelid::regclass, concat_ws(' ', pg_get_indexdef(indexrelid),
  indisvalid, indisreplident, indisclustered, obj_description(indexrelid, 'pg_class'))
from pg_index join pg_class on pg_class.oid = indexrelid where relnamespace = 'public'::regnamespace
union all
select 'trigger ' || tgrelid::regclass || '.' || tgname, concat_ws(' ', translate(pg_get_triggerdef(oid), '()', ''),
  tgenabled, obj_description(oid, 'pg_trigger'))
from pg_trigger where not tgisinternal
union all
select 'column ' || attrelid::regclass || '.' || attname, attnotnull::text
from pg_attribute join pg_class on pg_class.oid = attrelid
where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
union all
select 'table ' || oid::regclass, concat_ws(' ', relrowsecurity, relforcerowsecurity)
from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`;

async function structureNow(): Promise<Map<string, string>> {
  const rows = await bulk.query<{ name: string; as: string }>(structure);
  return new Map(rows.map(({ name, as }) => [name, as]));
}

it("triggers, constraints, indexes and policies are as they were, on each table", async () => {
  await bulk.beginChange({ as: "owner" });
  const before = await structureNow();
  const tables = await bulk.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  const filled = tables.map(({ name }) => ({ name, isLarge: name !== "departments" }));
  let meanwhile: string[] = [];
  await loadWithoutDefinitions(
    bulk,
    filled,
    async () => {
      meanwhile = [...(await structureNow()).keys()];
    },
    () => {},
  );
  const on = (names: Iterable<string>, table: string, kinds: RegExp) =>
    [...names].filter((name) => kinds.test(name) && name.split(" ")[1]?.startsWith(`${table}.`));
  // Rows go into a table that has nothing to look after but its checks.
  expect(on(before.keys(), "patients", /^(trigger|index)/).length).toBeGreaterThan(10);
  expect(on(meanwhile, "patients", /^(trigger|index)/)).toEqual([]);
  expect(on(meanwhile, "departments", /^(trigger|index)/)).toEqual(
    on(before.keys(), "departments", /^(trigger|index)/),
  );
  expect(await structureNow()).toEqual(before);
  await bulk.rollback();
});
