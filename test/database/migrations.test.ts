// Migrations that ran stay as they are, byte by byte, however their text is made; and an administrator of the database can
// read all of them as one script, which makes the same schema.
import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { migrate } from "../../host/database/migrate.ts";
import { migrationScript, migrationSql } from "../../host/database/migration-sql.ts";
import { runProcess, startDatabase } from "../support/service.ts";
import { tableTypes } from "./table-types.ts";

/** Of the statements of each. A new migration adds a line; no line ever changes. */
const sums: Record<string, string> = {
  "0001-foundation": "9bef46e552fbb8904c7603e74a83a274",
  "0002-patients": "40422084b78fab4f7939754e32c672cc",
  "0003-rotation": "a5156948b5bfcf7956172f435093d122",
  "0004-cache": "96157f9f8407d14244271f60d713256a",
  "0005-webhooks": "61da49942b0e6b8780bbab2e0ad7bc71",
  "0006-payments": "0fb948d42e6ec9aa2c0ab57741a24a53",
  "0007-search": "5f81b045d64a366e96ce1642adcc7d77",
  "0008-messenger": "1b67ca49690fd6688551942aebfc7d1b",
  "0009-identity": "011b4d2d64e81888019874a05c764a73",
  "0010-audit-batches": "0e6b4d6bd81cab9980c87c68c8fd8ba1",
  "0011-definers": "7f1256bbab06e0a3b25608d06f370af2",
  "0012-walk": "a2dbe1ab3f25439cec8e250e5fba34fb",
  "0013-origins": "ff81656387447a736b6d27fdd7bd8cf7",
  "0014-limits": "d7815f225490f0ba839c4150f6d6ed2e",
  "0015-checkpoints": "52c25f418c3cbe4f7433b3d3f676ef62",
  "0016-logins": "b1d75ed3b25b5cd74305aa840b6058c2",
  "0017-backups": "ea8179329658e8cc7f3159f397190745",
  "0018-hardening": "3792b0ccccf11aef08482f3b55de4c43",
  "0021-self-healing": "104b65ed9d48143dbc21d46395d8fd6b",
  "0022-healing": "300f93e7a971cd7572f4705d20b4689f",
  "0023-schedule-occurrences": "9522888fe0d90709297a0d3736a60d11",
  "0024-bulk-writes": "6df97c99bd2e5a951b155234b8a31e76",
  "0027-traces": "6ec09d36112e9a222e984a19736d76c7",
  "0028-compatibility": "1a7ea6fa2e3e83cf3d68be719f1b0289",
};

const schemaText = `
  select 'policy ' || polrelid::regclass || ' ' || polname || ' ' || pg_get_expr(polqual, polrelid) as line from pg_policy
  union all select 'index ' || indexdef from pg_indexes where schemaname = 'public'
  union all select 'constraint ' || conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 'n'
  union all select 'trigger ' || pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
  union all select 'function ' || md5(pg_get_functiondef(p.oid)) || ' ' || proname from pg_proc p
    where pronamespace = 'public'::regnamespace and prokind = 'f'
  union all select 'rights ' || oid::regclass || ' ' || relacl::text || relforcerowsecurity from pg_class
    where relnamespace = 'public'::regnamespace
  order by 1`;

async function schemaAfter(
  make: (url: string, run: (script: string) => Promise<unknown>) => Promise<unknown>,
) {
  const database = await startDatabase();
  try {
    await make(database.url, (script) => database.owner.query(script));
    // What keeps which of them ran is the migrator's own.
    await database.owner.query("drop table if exists mikro_orm_migrations");
    const { rows } = await database.owner.query<{ line: string }>(schemaText);
    return { lines: rows.map(({ line }) => line), tables: await tableTypes(database.owner) };
  } finally {
    await database.stop();
  }
}

describe("migrations", () => {
  it("are what they were when they ran first", async () => {
    const all = await migrationSql();
    const found = all.map(({ name, statements }) => [
      name,
      createHash("sha256").update(JSON.stringify(statements)).digest("hex").slice(0, 32),
    ]);
    expect(Object.fromEntries(found)).toEqual(sums);
  });
  it("make the same schema as the script that is printed of them", async () => {
    const script = await migrationScript();
    const printed = await schemaAfter((_url, run) => run(script));
    const migrated = await schemaAfter((url) => migrate(url, "records", {}));
    expect(printed).toEqual(migrated);
    expect(printed.lines.length).toBeGreaterThan(300);
  });
  it("are printed by `npm run migrate -- --sql`, without any setting and without a database", async () => {
    const running = runProcess({}, "host/migrate.ts", ["--sql"]);
    expect(await running.exited).toBe(0);
    expect(running.output()).toBe(await migrationScript());
  });
});
