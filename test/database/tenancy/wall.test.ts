// The second wall, asked directly: as the login that the services use, without any filter of theirs.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { Caller } from "../../../services/shared/caller.ts";
import { platform } from "../../../services/shared/database/scope.ts";
import {
  type Filled,
  fillTenant,
  openScene,
  openTables,
  platformTables,
  type Scene,
  tenantTables,
} from "./scene.ts";

let scene: Scene;
let ours: Filled;
let theirs: Filled;
let tables: { name: string; column: string }[];
/** Those that a tenant's statements may read. */
let readable: typeof tables;

beforeAll(async () => {
  scene = await openScene();
  ours = await fillTenant(scene.owner, "ours");
  theirs = await fillTenant(scene.owner, "theirs");
  tables = await tenantTables(scene.owner);
  await openTables(scene);
  readable = tables.filter(({ name }) => !platformTables.has(name));
});
afterAll(() => scene.stop());

const expected = [
  "audit_entries",
  "audit_heads",
  "audit_proofs",
  "data_keys",
  "deliveries",
  "delivery_attempts",
  "delivery_targets",
  "departments",
  "events",
  "incident_steps",
  "incidents",
  "known_origins",
  "lockouts",
  "mail_tokens",
  "messenger_links",
  "patient_records",
  "patients",
  "preferences",
  "registrations",
  "sessions",
  "tenants",
  "user_counts",
  "users",
  "webhooks",
];

it("the catalogue names at least the tables we know", () => {
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(expected));
});

it("every table with tenant rows forces row-level security, and none of them belongs to the login", async () => {
  const { rows } = await scene.owner.query(
    `select relname, relrowsecurity and relforcerowsecurity as forced, relowner::regrole::text as owner
     from pg_class where relnamespace = 'public'::regnamespace and relname = any($1) order by relname`,
    [tables.map(({ name }) => name)],
  );
  expect(rows).toHaveLength(tables.length);
  for (const { forced, owner } of rows) expect([forced, owner]).toEqual([true, "postgres"]);
});

it("the login is no superuser, bypasses nothing, makes nothing and is held to the tenant's policies", async () => {
  const { rows } = await scene.owner.query(
    `select rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication as privileged,
       (select array_agg(m.roleid::regrole::text || ' ' || m.inherit_option || ' ' || m.set_option order by 1)
        from pg_auth_members m where m.member = r.oid) as member_of
     from pg_roles r where rolname = 'records_login'`,
  );
  expect(rows).toEqual([
    {
      privileged: false,
      member_of: [
        "records_app true false",
        "records_login_platform false true",
        // To put one tenant's rows in the place of the present ones, still held to that tenant.
        "records_login_restore false true",
      ],
    },
  ]);
});

async function count(client: pg.Client, table: string): Promise<number> {
  return (await client.query(`select count(*)::integer as rows from ${table}`)).rows[0].rows;
}

describe("a raw connection of the application's login", () => {
  let raw: pg.Client;
  beforeAll(async () => {
    raw = new pg.Client({ connectionString: scene.appUrl });
    await raw.connect();
  });
  afterAll(() => raw.end());

  it("sees no row of any table while no tenant is set", async () => {
    for (const { name } of readable) expect([name, await count(raw, name)]).toEqual([name, 0]);
  });

  it("sees its own tenant's rows and no other's in every table", async () => {
    await raw.query("select set_config('app.tenant_id', $1, false)", [String(ours.tenantId)]);
    for (const { name, column } of readable) {
      const { rows } = await raw.query(`select distinct ${column}::text as tenant from ${name}`);
      expect([name, rows]).toEqual([name, [{ tenant: String(ours.tenantId) }]]);
    }
    await raw.query("reset app.tenant_id");
  });

  it.each(["", "0", "-1", "99999"])("sees nothing with the tenant set to %j", async (tenant) => {
    await raw.query("select set_config('app.tenant_id', $1, false)", [tenant]);
    for (const { name } of readable) expect([name, await count(raw, name)]).toEqual([name, 0]);
    await raw.query("reset app.tenant_id");
  });

  it("may not even ask for keys", async () => {
    await raw.query("select set_config('app.tenant_id', $1, false)", [String(ours.tenantId)]);
    for (const table of [
      ...platformTables,
      "master_keys",
      "audit_checkpoints",
      "audit_sinks",
      "audit_signing_keys",
      "fixes",
      "fault_looks",
      "schedule_occurrences",
    ]) {
      await expect(raw.query(`select from ${table}`)).rejects.toMatchObject({ code: "42501" });
    }
    await raw.query("reset app.tenant_id");
  });

  it.each(["x", "1 or 1=1", "1,2", "99999999999"])("fails with the tenant set to %j", async (tenant) => {
    await raw.query("select set_config('app.tenant_id', $1, false)", [tenant]);
    // The setting is no integer, or none that fits: no other reason counts.
    await expect(raw.query("select from users")).rejects.toMatchObject({
      code: expect.stringMatching(/^22P02$|^22003$/),
    });
    await raw.query("reset app.tenant_id");
  });

  it.each(["session", "user"])("cannot become the owner by set %s", async (kind) => {
    const statement = kind === "user" ? "set role postgres" : "set session authorization postgres";
    await expect(raw.query(statement)).rejects.toMatchObject({ code: "42501" });
  });

  it.each([
    "records_app",
    "records_platform",
    "records_search",
    "records_chain",
    "records_internal",
    "postgres",
  ])("cannot take up the role %s", async (role) => {
    await expect(raw.query(`set role ${role}`)).rejects.toMatchObject({ code: "42501" });
  });

  it("makes no temporary table, and no trigger of the log's", async () => {
    await expect(raw.query("create temp table audit_heads (tenant_id integer)")).rejects.toMatchObject({
      code: "42501",
    });
    const { rows } = await raw.query("select has_function_privilege('audit_chain()', 'execute') as may");
    expect(rows).toEqual([{ may: false }]);
  });

  it("reads nothing by views either", async () => {
    for (const view of ["live_sessions", "sign_in_accounts"]) {
      await expect(raw.query(`select from ${view}`)).rejects.toMatchObject({ code: "42501" });
    }
  });
});

describe("the database module", () => {
  it("shows a tenant scope one tenant, a tenant nobody has nothing, and the platform all, in every table", async () => {
    const { database } = scene.connected;
    for (const { name, column } of readable) {
      const statement = {
        text: `select distinct ${column}::integer as tenant from ${name} order by 1`,
        values: [],
      };
      expect([name, await database.read({ tenantId: ours.tenantId }, statement)]).toEqual([
        name,
        [{ tenant: ours.tenantId }],
      ]);
      expect([name, await database.read({ tenantId: 0 }, statement)]).toEqual([name, []]);
      const all = await database.read<{ tenant: number }>(platform, statement);
      expect(all.map(({ tenant }) => tenant)).toEqual([ours.tenantId, theirs.tenantId]);
    }
  });

  it("shows a tenant no key, and the platform those of all", async () => {
    const { database } = scene.connected;
    for (const name of platformTables) {
      const statement = { text: `select distinct tenant_id as tenant from ${name} order by 1`, values: [] };
      await expect(database.read({ tenantId: ours.tenantId }, statement)).rejects.toMatchObject({
        code: "42501",
      });
      const all = await database.read<{ tenant: number }>(platform, statement);
      expect(all.map(({ tenant }) => tenant)).toEqual([ours.tenantId, theirs.tenantId]);
    }
  });

  it("changes no foreign row, even by its id", async () => {
    const { database } = scene.connected;
    const scope = { tenantId: ours.tenantId };
    const system = Caller.system("test");
    for (const [text, id] of [
      ["update users set full_name = 'taken' where id = $1 returning id", theirs.doctorId],
      ["delete from departments where id = $1 returning id", theirs.departmentId],
      ["update tenants set name = 'taken' where id = $1 returning id", theirs.tenantId],
      ["delete from sessions where user_id = $1 returning id", theirs.doctorId],
    ] as const) {
      expect(await database.write(scope, system, { text, values: [id] })).toEqual([]);
    }
  });

  it.each([
    ["an update", "update users set full_name = 'read' where id = $1 returning id"],
    [
      "a deletion within a select",
      "with gone as (delete from sessions where user_id = $1 returning 1) select * from gone",
    ],
    ["a sequence", "select nextval('patients_id_seq'), $1::integer"],
    ["a lock of a row", "select id from users where id = $1 for update"],
    [
      "a function that writes",
      "select append_entries($1, null, '{}', '{patient.read}', '{}', '{}', '{ok}', '{null}', '{}', '{}', '{}')",
    ],
  ])("lets nothing be changed by a reading: %s", async (_what, text) => {
    const { database } = scene.connected;
    const { tenantId } = ours;
    const values = [text.includes("append") ? tenantId : ours.doctorId];
    // Only a tenant's statements may draw from a sequence, or record readings.
    for (const scope of /nextval|append/.test(text) ? [{ tenantId }] : [{ tenantId }, platform])
      await expect(database.read(scope, { text, values })).rejects.toMatchObject({ code: "25006" });
    // The connection it ran on serves the next as before.
    expect(
      await database.write({ tenantId }, Caller.system("test"), { text: "select 1 as one", values: [] }),
    ).toEqual([{ one: 1 }]);
  });

  it("changes and notes nothing of another tenant's for a caller who is no superadmin", async () => {
    const { database } = scene.connected;
    const principal = {
      kind: "user" as const,
      userId: ours.doctorId,
      tenantId: ours.tenantId,
      role: "admin" as const,
      departmentId: null,
      canSeeAllPatients: true,
      sessionId: crypto.randomUUID(),
      readAt: Date.now(),
    };
    const admin = new Caller({ principal, via: "test", requestId: "wall", ip: null, userAgent: null });
    const beyond = { tenantId: theirs.tenantId };
    const facts = { tenantId: theirs.tenantId, action: "test.beyond" };
    const refusal = { code: 403, type: "foreign_tenant" };
    await expect(database.change(beyond, admin, async () => {})).rejects.toMatchObject(refusal);
    await expect(
      database.changeOnce(beyond, admin, { text: "select 1", values: [] }, facts),
    ).rejects.toMatchObject(refusal);
    await expect(database.write(beyond, admin, { text: "select 1", values: [] })).rejects.toMatchObject(
      refusal,
    );
    await expect(database.recordRead(admin, facts)).rejects.toMatchObject(refusal);
  });

  it.each(["doctor", "doc"])("finds no foreign user by the search function (%s)", async (word) => {
    const text = "select * from search_user_ids($1, '%' || $1 || '%', null, null, 'id', false, 50, 0)";
    const scope = { tenantId: ours.tenantId };
    const rows = await scene.connected.database.read(scope, { text, values: [word] });
    expect(rows).toEqual([{ found_id: ours.doctorId, total: 1 }]);
  });
});

describe("temporary tables, where the login may make them", () => {
  let raw: pg.Client;
  const allowTemporary = (statement: string) =>
    scene.owner.query(`do $$ begin execute format('${statement}', current_database()); end $$`);
  const heads = async (tenantId: number) =>
    (await scene.owner.query("select seq, hash from audit_heads where tenant_id = $1", [tenantId])).rows;
  beforeAll(async () => {
    await allowTemporary("grant temporary on database %I to records_login");
    raw = new pg.Client({ connectionString: scene.appUrl });
    await raw.connect();
    await raw.query("select set_config('app.tenant_id', $1, false)", [String(ours.tenantId)]);
    await raw.query(`
      create temp table audit_heads (tenant_id integer, seq bigint, hash bytea);
      create temp table audit_entries (like public.audit_entries);
      create temp table data_keys (like public.audit_heads);
      create temp table users (like public.audit_heads);
      grant all on audit_heads, audit_entries, data_keys, users to public;
      create function pg_temp.act() returns trigger language plpgsql as $$
        begin raise exception 'ran as %', current_user; end $$;
      create trigger act before insert or update on audit_heads for each row execute function pg_temp.act()`);
    await raw.query("alter table audit_heads disable trigger act");
    await raw.query("insert into audit_heads values ($1, 5000, '\\xab')", [ours.tenantId]);
    await raw.query("alter table audit_heads enable trigger act");
  });
  afterAll(async () => {
    await raw.end();
    await allowTemporary("revoke temporary on database %I from records_login");
  });

  it.each([
    [
      "an entry",
      "insert into public.audit_entries (tenant_id, action, outcome, changes) values ($1, 'user.direct', 'ok', '{}')",
    ],
    [
      "a batch of entries",
      `select append_entries($1, null, array[null::integer], array['patient.batch'], array[null], array[null], array['ok'],
         array['{}'::json], array[null], array[null], array[null])`,
    ],
  ])("%s is chained to the log's own head all the same", async (_what, text) => {
    const [before] = await heads(ours.tenantId);
    await raw.query(text, [ours.tenantId]);
    const [after] = await heads(ours.tenantId);
    expect(Number(after.seq)).toBe(Number(before.seq) + 1);
    const { rows } = await scene.owner.query(
      "select prev_hash, hash from public.audit_entries where tenant_id = $1 order by seq desc limit 1",
      [ours.tenantId],
    );
    expect(rows).toEqual([{ prev_hash: before.hash, hash: after.hash }]);
    expect((await raw.query("select seq from pg_temp.audit_heads")).rows).toEqual([{ seq: "5000" }]);
  });

  it("users are found in the table of users", async () => {
    const { rows } = await raw.query(
      "select * from search_user_ids('doc', '%doc%', null, null, 'id', false, 50, 0)",
    );
    expect(rows).toEqual([{ found_id: ours.doctorId, total: 1 }]);
  });

  it("a trigger of the log's cannot be put on a table of one's own", async () => {
    await expect(
      raw.query(
        "create trigger chain before insert on pg_temp.audit_entries for each row execute function audit_chain()",
      ),
    ).rejects.toMatchObject({ code: "42501" });
  });
});
