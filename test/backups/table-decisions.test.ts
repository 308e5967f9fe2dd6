// The decision for each table, against the database: a new table, or a new column of one that is restored, needs a word.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { migrations } from "../../migrations/all.ts";
import { firstSchema, schemaSteps } from "../../services/backups/archive-schema.ts";
import {
  columnsLeftOut,
  decisionsTable,
  tableDecisions,
  tablesOf,
} from "../../services/backups/table-decisions.ts";
import { openScene, type Scene } from "../tenancy/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.stop());

async function namesOf(text: string): Promise<string[]> {
  const { rows } = await scene.owner.query<{ name: string }>(text);
  return rows.map(({ name }) => name);
}
const columnsIn = (schema: string) =>
  namesOf(`select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as name
    from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = '${schema}'::regnamespace
    and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by 1`);

describe("the decisions", () => {
  it("are there for every table, and for no other", async () => {
    const tables = await namesOf(
      "select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace",
    );
    expect(Object.keys(tableDecisions).sort()).toEqual(tables.sort());
    await scene.owner.query("create table forgotten (id integer)");
    const more = await namesOf("select relname as name from pg_class where relname = 'forgotten'");
    expect(more.filter((name) => !(name in tableDecisions))).toEqual(["forgotten"]);
    await scene.owner.query("drop table forgotten");
  });
  it("every column of an archive can be laid out, as it is", async () => {
    const places = new Set(await columnsIn("staging"));
    const archived = (await columnsIn("public")).filter((column) =>
      tablesOf("full").some((name) => column.startsWith(`${name}.`)),
    );
    expect(archived.filter((column) => !places.has(column))).toEqual([]);
  });
  it("a tenant's archive holds no hash of a password, and no archive a stamp", () => {
    expect(columnsLeftOut("tenant", "users")).toContain("password_hash");
    for (const type of ["full", "tenant"] as const)
      expect(columnsLeftOut(type, "patients")).toContain("stamp");
  });
  it("every migration since the first archives says what it means for them", () => {
    const names = migrations.map(({ name }) => name);
    expect(Object.keys(schemaSteps)).toEqual(names.slice(names.indexOf(firstSchema)));
  });
  it("stand in the documentation as they are", () => {
    const text = readFileSync(join(import.meta.dirname, "../../services/backups/README.md"), "utf8");
    expect(/<!-- decisions -->\n([\s\S]*?)\n<!-- \/decisions -->/.exec(text)?.[1]?.trim()).toBe(
      decisionsTable(),
    );
  });
});
