// What a thief of a login can leave behind for when the password is another one again: PostgreSQL lets every login change its
// own password, and the settings that its next connections begin with.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { connect } from "../../../host/database/connect.ts";
import { assertLoginFits } from "../../../host/database/guard-login.ts";
import { platform } from "../../../services/shared/database/scope.ts";
import { type Provisioned, provision } from "../../../host/database/provision.ts";
import { fillTenant, openScene, type Scene } from "../tenancy/scene.ts";
import { testSettings } from "../../support/service.ts";

const services = ["auth", "tenants", "users"];
let scene: Scene;
let provisioned: Provisioned;
let ours: number;

const prepare = () =>
  provision({
    ownerUrl: scene.database.url,
    bootSecret: testSettings(scene.database)["BOOT_SECRET"] ?? "",
  });

beforeAll(async () => {
  scene = await openScene(2);
  ours = (await fillTenant(scene.owner, "ours")).tenantId;
  await fillTenant(scene.owner, "theirs");
  provisioned = await prepare();
});
afterEach(prepare);
afterAll(() => scene.stop());

async function asThief(...statements: string[]): Promise<void> {
  const thief = new pg.Client({ connectionString: provisioned.urlFor(services) });
  await thief.connect();
  try {
    for (const statement of statements) await thief.query(statement);
  } finally {
    await thief.end();
  }
}

async function withDatabase<T>(work: (at: Awaited<ReturnType<typeof connect>>["database"]) => Promise<T>) {
  const url = provisioned.urlFor(services);
  const connected = await connect({ url, poolMax: 2, entities: [], statementTimeoutMs: 5_000 });
  try {
    return await work(connected.database);
  } finally {
    await connected.close();
  }
}

const settingsLeft = `select r.rolname::text as role, unnest(s.setconfig) as setting from pg_db_role_setting s
  join pg_roles r on r.oid = s.setrole where r.rolname like 'records\\_%'`;
const tenants = { text: "select id from tenants order by id", values: [] };

describe("settings that a thief has given a login", () => {
  it("show its processes no other tenant", async () => {
    await asThief("alter role records_accounts set role = 'records_accounts_platform'");
    await withDatabase(async (database) => {
      expect(await database.read({ tenantId: ours }, tenants)).toEqual([{ id: ours }]);
      expect(await database.read({ tenantId: 0 }, tenants)).toEqual([]);
      expect(await database.read(platform, tenants)).toHaveLength(2);
      // A statement without any scope, as the queue's are.
      const text = "select current_user::text as who, count(*)::integer as tenants from tenants";
      const { rows } = await database.pool.query(text);
      expect(rows).toEqual([{ who: "records_accounts", tenants: 0 }]);
    });
  });

  it.each(["app.tenant_id", "app.restore_job", "records.traced"])(
    "are none that the database itself believes: %s",
    async (name) => {
      await expect(asThief(`alter role records_accounts set ${name} = '1'`)).rejects.toMatchObject({
        code: "42501",
      });
    },
  );

  it.each([
    ["alter role records_accounts set role = 'records_accounts_platform'", "role"],
    ["alter role records_accounts in database records set row_security = off", "row_security"],
    ["alter role records_accounts set search_path = 'graphile_worker'", "search_path"],
  ])("keep a process from serving: %s", async (statement, name) => {
    await asThief(statement);
    const fits = () => withDatabase((database) => assertLoginFits(database, services));
    await expect(fits()).rejects.toThrow(
      `The database login records_accounts has settings of its own (${name}): run \`npm run migrate\`, which takes them away.`,
    );
    await prepare();
    expect(await fits()).toEqual({ excess: undefined });
  });

  it("are taken away when the logins are provisioned, in every database", async () => {
    await asThief(
      "alter role records_accounts set default_transaction_read_only = on",
      "alter role records_accounts in database postgres set statement_timeout = 1",
      "alter role records_accounts in database records set work_mem = '1GB'",
    );
    // The role that it takes up may have some of its own as well, which only the owner can have set.
    await scene.owner.query("alter role records_accounts_platform set work_mem = '1GB'");
    expect((await scene.owner.query(settingsLeft)).rowCount).toBe(4);
    await prepare();
    expect((await scene.owner.query(settingsLeft)).rows).toEqual([]);
  });
});

it("a password that a thief has set is the operator's again when the logins are provisioned", async () => {
  await asThief("alter role records_accounts password 'the-thief-knows-it'");
  const signIn = () => withDatabase((database) => database.read({ tenantId: ours }, tenants));
  await expect(signIn()).rejects.toMatchObject({ code: "28P01" });
  await prepare();
  expect(await signIn()).toEqual([{ id: ours }]);
});
