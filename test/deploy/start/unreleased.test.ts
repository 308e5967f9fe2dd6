// A database whose patients are still sealed field by field, as no released version did: nobody can seal them anew but the
// service, so the migration refuses. By an owner who is no superuser, whom the policies show no patient.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MikroORM } from "@mikro-orm/postgresql";
import { Migrator } from "@mikro-orm/migrations";
import pg from "pg";
import { migrations } from "../../../migrations/all.ts";
import { runProcess, startDatabase, type TestDatabase, testSettings } from "../../support/service.ts";

let database: TestDatabase;
let settings: Record<string, string>;
/** A superuser on the owner's database. */
let client: pg.Client;

beforeAll(async () => {
  database = await startDatabase();
  await database.owner.query("create role plain login createrole password 'plain'");
  await database.owner.query("create database clinic owner plain");
  const url = new URL(database.url);
  url.pathname = "/clinic";
  client = new pg.Client({ connectionString: url.href });
  await client.connect();
  Object.assign(url, { username: "plain", password: "plain" });
  settings = { ...testSettings(database), DATABASE_URL: url.href };
  await migrateUntil("0009", url.href);
  await client.query(
    `with clinic as (insert into tenants (name, subdomain) values ('A Clinic', 'ours') returning id)
     insert into patients (tenant_id, record_number, full_name, full_name_index) select id, 'R-1', '-', sha256('-') from clinic`,
  );
});
afterAll(async () => {
  await client.end();
  await database.stop();
});

/** All before the named one. */
async function migrateUntil(name: string, url: string): Promise<void> {
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    dbName: "clinic",
    ensureDatabase: false,
    extensions: [Migrator],
    logger: () => {},
    driverOptions: { connectionString: url },
    migrations: { migrationsList: migrations.filter((each) => each.name < name), snapshot: false },
  });
  await orm.migrator.up();
  await orm.close();
}

async function ended(program: string) {
  const running = runProcess(settings, program);
  const code = await running.exited;
  // The log, on standard output, is JSON.
  const said = running.output().trimEnd().split("\n");
  return { code, said: said.filter((line) => !line.startsWith("{")) };
}

/** What of the migration is there. */
async function found() {
  const { rows } = await client.query(
    `select (select max(name) from mikro_orm_migrations) as last, array_agg(attname::text order by attname) as columns,
       (select relforcerowsecurity from pg_class where oid = 'patients'::regclass) as forced
     from pg_attribute where attrelid = 'patients'::regclass and not attisdropped
       and attname in ('full_name', 'birth_date', 'phone', 'notes', 'identity')`,
  );
  return rows[0];
}

describe("patients of an unreleased version", () => {
  it.each(["host/migrate.ts", "host/start.ts"])(
    "are refused by %s with one sentence, and nothing is changed",
    async (program) => {
      const before = await found();
      expect(await ended(program)).toEqual({
        code: 1,
        said: [
          "The patients in the database are of an unreleased version and cannot be carried over: start with an empty database.",
        ],
      });
      expect(await found()).toEqual(before);
      expect(before).toEqual({
        last: "0008-messenger",
        columns: ["birth_date", "full_name", "notes", "phone"],
        forced: true,
      });
      const { rows } = await client.query("select count(*)::integer as patients from patients");
      expect(rows).toEqual([{ patients: 1 }]);
    },
  );

  it("once they are gone, and what stood of them in quarantine with them, the database is brought up to date", async () => {
    await client.query("delete from patients");
    await client.query(
      `with master as (insert into master_keys (version, wrapped, fingerprint, state, destroyed_at)
         values (1, null, sha256('-'), 'destroyed', now()) returning version),
       rotation as (insert into rotations (master_version, previous_version, rewrapped, rows_total, tenants_total, state,
         finished_at) select version, version, 0, 0, 0, 'finished', now() from master returning id)
       insert into quarantined_fields (tenant_id, table_name, row_id, column_name, reason, rotation_id)
       select t.id, place.table_name, 1, place.column_name, 'format', rotation.id from rotation, tenants t,
         (values ('patients', 'phone'), ('patient_records', 'body')) as place (table_name, column_name)`,
    );
    expect(await ended("host/migrate.ts")).toMatchObject({ code: 0 });
    expect(await found()).toMatchObject({ columns: ["identity", "notes"], forced: true });
    const { rows } = await client.query("select table_name from quarantined_fields");
    expect(rows).toEqual([{ table_name: "patient_records" }]);
  });

  it("all of it took no right to make databases, and made none", async () => {
    const { rows } = await client.query(
      "select datname::text as name from pg_database where not datistemplate",
    );
    expect(rows.map(({ name }) => name).sort()).toEqual(["clinic", "postgres", "records"]);
  });
});
