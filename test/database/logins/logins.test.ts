// The logins themselves: whose they are, what becomes of those that are not wanted any more, two installations on one
// server, and what a process finds out about its own login before it serves.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { readConfig } from "../../../host/settings/config.ts";
import { connect } from "../../../host/database/connect.ts";
import { assertLoginFits, servicesWithRights } from "../../../host/database/guard-login.ts";
import { defaultLogins, type LoginKind } from "../../../host/database/logins.ts";
import { provision } from "../../../host/database/provision.ts";
import { scramVerifier } from "../../../host/database/scram.ts";
import { urlAs } from "../../support/logins.ts";
import { runProcess, startDatabase, type TestDatabase, testSettings } from "../../support/service.ts";

let database: TestDatabase;
const bootSecret = testSettings({ url: "", folder: "" })["BOOT_SECRET"] ?? "";
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database.stop());

async function signsIn(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query(
      "select session_user::text as name, count(*)::integer as n from tenants",
    );
    return rows[0].name;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const prepare = (
  kinds: readonly LoginKind[],
  passwords: Record<string, string> = {},
  services?: readonly string[],
) =>
  provision({
    ownerUrl: database.url,
    bootSecret,
    logins: { kinds, passwords },
    ...(services && { forProcess: { services } }),
  });
const notLetIn = "28000";
const wrongPassword = "28P01";

describe("settings", () => {
  const read = (env: Record<string, string>) => readConfig(env);
  it("list logins with their services, `*` for all, and a password for each", () => {
    const config = read({
      DATABASE_LOGINS: "one=*; keys = crypto ;front=auth, users,tenants",
      DATABASE_PASSWORD_KEYS: "a-password-of-keys",
      DATABASE_PASSWORD_FRONT: "a-password-of-front",
    });
    expect(config.databaseLogins.map(({ kind, services }) => [kind, services.length])).toEqual([
      ["one", defaultLogins[0]?.services.length],
      ["keys", 1],
      ["front", 3],
    ]);
    expect(config.databasePasswords).toEqual({ keys: "a-password-of-keys", front: "a-password-of-front" });
  });
  it("are the kinds of docs/deploy.md by default, beside one for a single process", () => {
    expect(read({}).databaseLogins).toEqual(defaultLogins);
    expect(read({}).databasePasswords).toEqual({});
  });
  it.each([
    ["one", /DATABASE_LOGINS must list logins as/],
    ["one=", /DATABASE_LOGINS must list logins as/],
    ["one=nothing", /the services among audit/],
    ["one=auth,", /the services among audit/],
    ["platform=auth", /DATABASE_LOGINS must list logins as/],
    ["Upper=auth", /DATABASE_LOGINS must list logins as/],
    ["a_b=auth", /DATABASE_LOGINS must list logins as/],
    [";", /must list 1 to 20 logins/],
    [Array.from({ length: 21 }, (_, n) => `k${n}=mail`).join(";"), /must list 1 to 20 logins/],
    ["one=auth;one=users", /must name each login once/],
  ])("refuse %s", (DATABASE_LOGINS, sentence) => {
    expect(() => read({ DATABASE_LOGINS })).toThrow(sentence);
  });
  it("refuse a password of no login, one that is too short, and repeat none", () => {
    expect(() => read({ DATABASE_PASSWORD_STRANGER: "a-password-of-nobody" })).toThrow(
      "DATABASE_PASSWORD_STRANGER is the password of no login in DATABASE_LOGINS.",
    );
    const faulty = () => read({ DATABASE_PASSWORD_CRYPTO: "too-short" });
    expect(faulty).toThrow(/DATABASE_PASSWORD_<KIND> for CRYPTO must be 16 to 200 visible ASCII characters/);
    expect(faulty).not.toThrow(/too-short/);
  });
});

describe("a password", () => {
  it("is sent in the form in which PostgreSQL keeps it, and opens the login", async () => {
    const verifier = await scramVerifier("a password, as typed");
    await database.owner.query(`create role typed login password ${pg.escapeLiteral(verifier)}`);
    const { rows } = await database.owner.query("select rolpassword from pg_authid where rolname = 'typed'");
    expect(rows).toEqual([{ rolpassword: verifier }]);
    const client = new pg.Client({
      connectionString: urlAs(database, "typed", "a%20password,%20as%20typed"),
    });
    await client.connect();
    await client.end();
    await database.owner.query("drop role typed");
  });
  it("that was set opens its login, and the one that would be derived does not", async () => {
    const { urlFor } = await prepare(defaultLogins);
    const derived = urlFor(["crypto"]);
    expect(await signsIn(derived)).toBe("records_crypto");
    const { urlFor: urlOf } = await prepare(defaultLogins, { crypto: "set-by-the-operator" });
    expect(await signsIn(derived)).toBe(wrongPassword);
    expect(await signsIn(urlOf(["crypto"]))).toBe("records_crypto");
    expect(urlOf(["crypto"])).toBe(urlAs(database, "records_crypto", "set-by-the-operator"));
  });
});

describe("logins that are not declared any more", () => {
  const two: readonly LoginKind[] = [
    { kind: "front", services: ["auth", "tenants", "users"] },
    { kind: "back", services: defaultLogins.flatMap(({ services }) => services) },
  ];
  it("sign in no more and have no rights, until they are declared again", async () => {
    const { urlFor } = await prepare(defaultLogins);
    const urls = ["login", "accounts", "crypto", "support", "outbound"].map((kind) =>
      urlFor(defaultLogins.find((login) => login.kind === kind)?.services ?? []),
    );
    const { urlFor: urlOf, logins } = await prepare(two);
    expect(logins.map(({ name }) => name)).toEqual(["records_front", "records_back"]);
    expect(await signsIn(urlOf(["auth"]))).toBe("records_front");
    expect(await signsIn(urlOf(undefined))).toBe("records_back");
    for (const url of urls) expect(await signsIn(url)).toBe(notLetIn);
    const { rows } = await database.owner.query("select login::text from database_logins order by 1");
    expect(rows).toEqual([{ login: "records_back" }, { login: "records_front" }]);
    const { rows: left } = await database.owner.query(
      `select distinct grantee from information_schema.column_privileges where grantee like 'records\\_accounts%'
       union select m.member::regrole::text from pg_auth_members m where m.member::regrole::text like 'records\\_accounts%'`,
    );
    expect(left).toEqual([]);
    await prepare(defaultLogins);
    expect(await signsIn(urls[1] ?? "")).toBe("records_accounts");
  });

  it("give way to a second login of the same kind without a moment in which neither opens", async () => {
    const services = ["auth", "tenants", "users"];
    const kind = (name: string) => ({ kind: name, services });
    const old = { accounts: "the-old-password" };
    const both = { ...old, accounts2: "the-new-password" };
    const { urlFor } = await prepare([kind("accounts"), ...two], old);
    const running = new pg.Client({ connectionString: urlFor(services) });
    await running.connect();
    const goesOn = async () => (await running.query("select session_user::text as name")).rows[0].name;
    // The processes' own settings list one of the two, so each knows which is its.
    await prepare([kind("accounts"), kind("accounts2"), ...two], both);
    const urlOf = (name: "accounts" | "accounts2") => urlAs(database, `records_${name}`, both[name]);
    expect([await signsIn(urlOf("accounts")), await signsIn(urlOf("accounts2"))]).toEqual([
      "records_accounts",
      "records_accounts2",
    ]);
    expect(await goesOn()).toBe("records_accounts");
    await running.end();
    await prepare([kind("accounts2"), ...two], { accounts2: both.accounts2 });
    expect([await signsIn(urlOf("accounts")), await signsIn(urlOf("accounts2"))]).toEqual([
      notLetIn,
      "records_accounts2",
    ]);
  });

  it("are left alone, with their passwords, by a process that provisions for itself", async () => {
    const { urlFor } = await prepare(two, { front: "set-by-the-operator" });
    const own = await prepare(defaultLogins, {}, ["crypto"]);
    expect(await signsIn(own.urlFor(["crypto"]))).toBe("records_crypto");
    expect(await signsIn(urlFor(["auth"]))).toBe("records_front");
    const again = await prepare(two, {}, undefined);
    expect(again.logins).toHaveLength(2);
  });
});

it("a database whose name leaves no room for the logins' names is refused with one sentence", async () => {
  const name = "n".repeat(50);
  await database.owner.query(`create database ${name}`);
  const ownerUrl = database.url.replace(/\/records$/, `/${name}`);
  await expect(provision({ ownerUrl, bootSecret })).rejects.toThrow(
    /^The name of the database n+ is too long/,
  );
});

it("two installations on one server, prepared at the same time, have logins that see nothing of each other", async () => {
  const names = ["first", "second"];
  for (const name of names) await database.owner.query(`create database ${name}`);
  const urls = names.map((name) => database.url.replace(/\/records$/, `/${name}`));
  const both = await Promise.all(urls.map((ownerUrl) => provision({ ownerUrl, bootSecret })));
  await prepare(defaultLogins);
  for (const [at, { urlFor }] of both.entries()) {
    const [own = "", other = ""] = [names[at], names[1 - at]];
    for (const kind of defaultLogins) {
      const url = urlFor(kind.services);
      expect(await signsIn(url)).toBe(`${own}_${kind.kind}`);
      // It may connect, as everybody may by default, and has no right to anything there.
      expect(await signsIn(url.replace(new RegExp(`/${own}$`), `/${other}`))).toBe("42501");
      expect(await signsIn(url.replace(new RegExp(`/${own}$`), "/records"))).toBe("42501");
    }
  }
  // One that is taken down takes nothing of the other's with it.
  await database.owner.query("drop database second");
  expect(await signsIn(both[0]?.urlFor(["mail"]) ?? "")).toBe("first_support");
});

describe("before it serves, a process finds out whether", () => {
  async function fits(url: string, services: readonly string[]) {
    const connected = await connect({ url, poolMax: 1, entities: [], statementTimeoutMs: 5_000 });
    try {
      return await assertLoginFits(connected.database, services);
    } finally {
      await connected.close();
    }
  }
  let urlFor: (services: readonly string[] | undefined) => string;
  beforeAll(async () => {
    ({ urlFor } = await prepare(defaultLogins));
  });

  it("its login is the one for its services", async () => {
    for (const { services } of defaultLogins)
      expect(await fits(urlFor(services), services)).toEqual({ excess: undefined });
    // One of several that share a login.
    expect(await fits(urlFor(["cache"]), ["cache"])).toEqual({ excess: undefined });
  });

  it.each([
    [["auth"], ["crypto"], /^The database login records_crypto may not select /],
    [["crypto"], ["auth"], /^The database login records_accounts may not select /],
    [["patients"], ["webhooks"], /^The database login records_outbound may not /],
  ])("it may what %j need, as the login for %j may not", async (services, other, sentence) => {
    await expect(fits(urlFor(other), services)).rejects.toThrow(sentence);
  });

  it.each([
    [["auth"], /may select master_keys/],
    [["patients"], /may select master_keys/],
    [["crypto"], /may select users/],
  ])("it may more than %j should", async (services, sentence) => {
    expect((await fits(urlFor(undefined), services)).excess).toMatch(sentence);
  });

  it("its login may become somebody else", async () => {
    await database.owner.query(
      "grant records_crypto_platform to records_support with inherit false, set true",
    );
    await expect(fits(urlFor(["audit"]), ["audit"])).rejects.toThrow(
      "The database login records_support may take up the role records_crypto_platform.",
    );
    await prepare(defaultLogins);
    await expect(fits(urlFor(["audit"]), ["audit"])).resolves.toEqual({ excess: undefined });
  });

  it("its login is one of ours at all", async () => {
    await database.owner.query(
      "create role somebody login password 'somebodys-password' in role records_app",
    );
    await database.owner.query("grant select on database_logins to somebody");
    await expect(fits(urlAs(database, "somebody", "somebodys-password"), [])).rejects.toThrow(
      "The database login somebody is none that `npm run migrate` keeps: use one of DATABASE_LOGINS.",
    );
    await database.owner.query("drop owned by somebody; drop role somebody");
  });

  it("a right was lost, and which", async () => {
    await database.owner.query("revoke update (wrapped) on master_keys from records_crypto_platform");
    await expect(fits(urlFor(["crypto"]), ["crypto"])).rejects.toThrow(
      "The database login records_crypto may not update master_keys.wrapped, as this process needs: use another one, or run `npm run migrate`.",
    );
    await prepare(defaultLogins);
  });

  it("in production, a login that may too much ends it with one sentence", async () => {
    const { DATABASE_URL: _owners, DEMO_MODE: _demo, ...rest } = testSettings(database);
    const settings = {
      ...rest,
      NODE_ENV: "production",
      SERVICES: "cache",
      DATABASE_APP_URL: urlFor(undefined),
    };
    const running = runProcess(settings);
    expect(await running.exited).toBe(1);
    expect(JSON.parse(running.output())).toMatchObject({
      level: "fatal",
      msg: "The database login records_login may select master_keys, for which no service of this process has a use. DATABASE_LOGINS can name one for cache.",
    });
  });
});

it("services are told from folders that have no rights of their own", () => {
  expect(servicesWithRights(["api-gateway", "auth"])).toEqual(["auth"]);
  expect(servicesWithRights(undefined)).toEqual([...(defaultLogins[0]?.services ?? [])]);
});
