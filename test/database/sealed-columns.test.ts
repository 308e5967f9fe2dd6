// The one list of sealed columns against the database: a column it forgot would be missed by the rotation of keys.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sealedTables } from "../../services/shared/sealing/registry.ts";
import { fillTenant, openScene, type Scene } from "./tenancy/scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
  await fillTenant(scene.owner, "ours");
});
afterAll(() => scene.stop());

/** Bytes that are no sealed text: hashes, wrapped keys and blind indexes. */
const otherBytes = /[._](?:hash|wrapped|fingerprint|index)$|^audit_repeats\.key$/;
const listed = Object.entries(sealedTables).flatMap(([table, { columns }]) =>
  columns.map((column) => `${table}.${column}`),
);

async function byteColumns(): Promise<string[]> {
  const { rows } = await scene.owner.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and data_type = 'bytea' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** What the list and the database disagree about. */
async function disagreements(): Promise<string[]> {
  const there = (await byteColumns()).filter((name) => !otherBytes.test(name));
  const forgotten = there
    .filter((name) => !listed.includes(name))
    .map((name) => `${name} is not in the list`);
  return [
    ...forgotten,
    ...listed.filter((name) => !there.includes(name)).map((name) => `${name} is not there`),
  ];
}

describe("the list of sealed columns", () => {
  it("holds every column of bytes that is not a hash, a wrapped key or a blind index", async () => {
    expect(await disagreements()).toEqual([]);
    expect(listed).toHaveLength(5);
  });

  it("would not go on without a column that is added to the database", async () => {
    await scene.owner.query("alter table patients add column allergies bytea");
    expect(await disagreements()).toEqual(["patients.allergies is not in the list"]);
    await scene.owner.query("alter table patients drop column allergies");
  });

  it("would not go on with a column that is gone", async () => {
    await scene.owner.query("alter table patients rename column notes to remarks_index");
    expect(await disagreements()).toEqual(["patients.notes is not there"]);
    await scene.owner.query("alter table patients rename column remarks_index to notes");
  });

  it.each(Object.entries(sealedTables))("names %s's own id and tenant", async (table, { id, tenant }) => {
    const { rows } = await scene.owner.query(
      `select array_agg(a.attname::text order by a.attname) as key from pg_index i
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
       where i.indrelid = $1::regclass and i.indisprimary`,
      [table],
    );
    expect(rows[0].key).toEqual([id, tenant].sort());
  });

  const columns = Object.entries(sealedTables).flatMap(([table, { columns: names, id, tenant }]) =>
    names.map((column) => ({ table, column, id, tenant })),
  );

  it.each(columns)("$table: $column takes nothing sealed with a key that is gone", async (place) => {
    const { table, column, id, tenant } = place;
    const bytes = Buffer.alloc(64, 1);
    bytes.writeUInt32BE(2_000_000_000, 1);
    const { rows } = await scene.owner.query(`select ${id} as id, ${tenant} as tenant from ${table} limit 1`);
    expect(rows).toHaveLength(1);
    await scene.owner.query("begin");
    try {
      await scene.owner.query("select set_config('app.tenant_id', $1, true)", [String(rows[0].tenant)]);
      const written = scene.owner.query(`update ${table} set ${column} = $1 where ${id} = $2`, [
        bytes,
        rows[0].id,
      ]);
      await expect(written).rejects.toMatchObject({ code: "RK001" });
    } finally {
      await scene.owner.query("rollback");
    }
  });
});
