// The roles made by an administrator, with what `npm run roles` prints: for an owner who may make none, and for a second
// owner on a server where another installation's owner made those that all share.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { defaultLogins, loginsOf } from "../../../host/database/logins.ts";
import { rolesOf } from "../../../host/database/roles-script.ts";
import {
  addressOf,
  callApi,
  demoPassword,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../../support/service.ts";

let server: TestDatabase;
let rest: Record<string, string>;
beforeAll(async () => {
  server = await startDatabase();
  const { DATABASE_URL: _url, ...others } = testSettings(server);
  rest = others;
});
afterAll(() => server.stop());

async function ended(env: Record<string, string>, program: string) {
  const running = runProcess(env, program);
  return { code: await running.exited, said: running.output().trim() };
}

/** An empty database and its owner. */
async function installation(name: string, rights: string): Promise<Record<string, string>> {
  await server.owner.query(`create role ${name}_owner login ${rights} password 'p'`);
  await server.owner.query(`create database ${name} owner ${name}_owner`);
  const url = new URL(server.url);
  Object.assign(url, { username: `${name}_owner`, password: "p", pathname: `/${name}` });
  return { DATABASE_URL: url.href, BOOT_SECRET: rest["BOOT_SECRET"] ?? "" };
}

/** As psql does it, by the superuser. */
async function administer(env: Record<string, string>): Promise<string> {
  const { code, said } = await ended(env, "host/roles.ts");
  expect(code).toBe(0);
  await server.owner.query(said);
  return said;
}

/** All that the server knows of the roles whose names begin so, and of the shared ones. */
async function rolesNamed(beginning: string): Promise<unknown[]> {
  const { rows } = await server.owner.query(
    `select rolname, rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, a.rolpassword,
       array(select g.rolname || ' ' || m.inherit_option || m.set_option || m.admin_option from pg_auth_members m
         join pg_roles g on g.oid = m.roleid where m.member = a.oid order by 1) as member_of
     from pg_authid a where starts_with(rolname, $1) order by 1`,
    [beginning],
  );
  return rows;
}

async function serves(env: Record<string, string>): Promise<void> {
  const app = (env["DATABASE_URL"] ?? "").replace(/\/\/.*@/, "//");
  const running = runProcess({ ...rest, DATABASE_APP_URL: app, DEMO_MODE: "true" });
  try {
    const url = await addressOf(running);
    const body = { email: "admin@platform.example", subdomain: "platform", password: demoPassword };
    expect((await callApi(url, "POST", "/api/auth/login", { body })).status).toBe(200);
  } finally {
    await running.stop();
  }
}

describe("an owner who may make no roles", () => {
  let poor: Record<string, string>;
  beforeAll(async () => {
    poor = await installation("poor", "");
  });

  it("is told what is missing before anything is written", async () => {
    expect(await ended(poor, "host/migrate.ts")).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^The login poor_owner of DATABASE_URL may make no roles \(\d+ are missing\): give it CREATEROLE, or have an administrator run what `npm run roles` prints; docs\/deploy\.md has the statements, under “A database of your own”\.$/,
      ),
    });
  });

  it("migrates once an administrator has run the script, and the service works with these roles", async () => {
    const script = await administer(poor);
    expect(script).not.toMatch(/password '(?!SCRAM-SHA-256\$)/);
    expect((await ended(poor, "host/migrate.ts")).code).toBe(0);
    await serves(poor);
    const names = (await rolesNamed("poor_")).map((role) => (role as { rolname: string }).rolname);
    expect(names.sort()).toEqual(["poor_owner", ...(rolesOf("poor", defaultLogins) ?? [])].sort());
    // A second time nothing is left to do, for either.
    const before = (await rolesNamed("poor_")).map((role) => ({ ...(role as object), rolpassword: "" }));
    await administer(poor);
    expect((await ended(poor, "host/migrate.ts")).code).toBe(0);
    expect((await rolesNamed("poor_")).map((role) => ({ ...(role as object), rolpassword: "" }))).toEqual(
      before,
    );
  });

  it("mends who is a member of what, and is told in one sentence where it may not", async () => {
    await server.owner.query("revoke poor_accounts_platform from poor_accounts");
    expect((await ended(poor, "host/migrate.ts")).code).toBe(0);
    const [accounts] = await rolesNamed("poor_accounts");
    expect(accounts).toMatchObject({
      member_of: expect.arrayContaining(["poor_accounts_platform falsetruefalse"]),
    });
    await server.owner.query(
      "revoke poor_accounts_platform from poor_accounts granted by poor_owner; revoke poor_accounts_platform from poor_owner",
    );
    expect(await ended(poor, "host/migrate.ts")).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^The login of DATABASE_URL may not bring the roles of the services up to date \(permission denied to grant role "poor_accounts_platform"\): have an administrator run what `npm run roles` prints, then migrate again\.$/,
      ),
    });
    await administer(poor);
    expect((await ended(poor, "host/migrate.ts")).code).toBe(0);
  });
});

describe("two installations on one server, each with an owner of its own", () => {
  let second: Record<string, string>;
  beforeAll(async () => {
    second = await installation("second", "createrole");
  });

  it("the second owner is told that the shared roles are another's", async () => {
    expect(await ended(second, "host/migrate.ts")).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^The login second_owner of DATABASE_URL may not pass on records_app, .+, which somebody else made: have an administrator run what `npm run roles` prints;/,
      ),
    });
  });

  it("with the script both work, and what the second does touches no role of the first", async () => {
    const first = await rolesNamed("poor_");
    await administer(second);
    expect((await ended(second, "host/migrate.ts")).code).toBe(0);
    await serves(second);
    // Other logins: those it does not want any more sign in no more, and only those.
    const fewer = { ...second, DATABASE_LOGINS: "accounts=auth,tenants,users;rest=*" };
    expect((await ended(fewer, "host/migrate.ts")).code).toBe(0);
    expect(await rolesNamed("poor_")).toEqual(first);
    const off = (await rolesNamed("second_support")) as { rolname: string; rolcanlogin: boolean }[];
    expect(off.find(({ rolname }) => rolname === "second_support")?.rolcanlogin).toBe(false);
    expect(await ended(second, "host/migrate.ts")).toMatchObject({ code: 0 });
  });

  it("no role of one has a right in the other's database", async () => {
    const url = new URL(server.url);
    url.pathname = "/second";
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      const { rows } = await client.query(
        `select c.relname, r.rolname from pg_class c, aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
         where starts_with(r.rolname, 'poor_')`,
      );
      expect(rows).toEqual([]);
      const members = await client.query(
        `select g.rolname || ' ' || r.rolname as found from pg_auth_members m join pg_roles g on g.oid = m.roleid
           join pg_roles r on r.oid = m.member
         where split_part(g.rolname, '_', 1) in ('poor', 'second') and split_part(r.rolname, '_', 1) in ('poor', 'second')
           and split_part(g.rolname, '_', 1) <> split_part(r.rolname, '_', 1)`,
      );
      expect(members.rows).toEqual([]);
    } finally {
      await client.end();
    }
    expect(loginsOf("second", defaultLogins)?.map(({ name }) => name)).toContain("second_support");
  });
});
