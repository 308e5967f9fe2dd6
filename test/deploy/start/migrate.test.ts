// Deployments in which the owner's login stays with one program: `host/migrate.ts` prepares the database and ends,
// the services hold nothing but DATABASE_APP_URL and start only on what it has prepared.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { existsSync } from "node:fs";
import pg from "pg";
import { completeLogin, passwordOf } from "../../../host/database/application-login.ts";
import { defaultLogins } from "../../../host/database/logins.ts";
import { freePort } from "../../support/nats.ts";
import {
  addressOf,
  callApi,
  demoPassword,
  eventually,
  type RunningProcess,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../../support/service.ts";

const start = "host/start.ts";
const migrate = "host/migrate.ts";
let database: TestDatabase;
let owner: Record<string, string>;
let application: Record<string, string>;
let bootSecret: string;

beforeAll(async () => {
  database = await startDatabase();
  const { DATABASE_URL = "", BOOT_SECRET = "", ...rest } = testSettings(database);
  bootSecret = BOOT_SECRET;
  owner = { DATABASE_URL, BOOT_SECRET };
  application = { ...rest, BOOT_SECRET, DATABASE_APP_URL: DATABASE_URL.replace(/\/\/.*@/, "//") };
});
afterAll(() => database.stop());

async function ended(env: Record<string, string>, program: string) {
  const running = runProcess(env, program);
  return { code: await running.exited, said: running.output().trimEnd().split("\n") };
}

const logins = { kinds: defaultLogins, passwords: {} };

describe("a login in a URL", () => {
  const boot = "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R";
  const password = passwordOf("login", "records", logins, boot);
  const as = `records_login:${password}@`;
  it.each([
    ["postgresql://db/records", `postgresql://${as}db/records`],
    ["postgresql://db:6432/records?sslmode=require", `postgresql://${as}db:6432/records?sslmode=require`],
    ["postgresql:///records?host=/run/postgresql", `postgresql://${as}/records?host=/run/postgresql`],
    ["postgresql://%2Frun%2Fpostgresql/records", `postgresql://${as}%2Frun%2Fpostgresql/records`],
  ])("is completed where there is none: %s", (url, completed) => {
    expect(completeLogin(url, logins, boot, undefined)).toBe(completed);
  });
  it.each([["postgresql://me@db/records"], ["postgresql://me:mine@db/records"]])(
    "stays as it is: %s",
    (url) => expect(completeLogin(url, logins, boot, undefined)).toBe(url),
  );
  it.each([
    [["auth"], "accounts"],
    [["users", "tenants"], "accounts"],
    [["crypto"], "crypto"],
    [["api-gateway", "webhooks"], "outbound"],
    [["cache", "mail"], "support"],
    [["auth", "crypto"], "login"],
    [undefined, "login"],
  ])("is the one with the least that does for %j: %s", (services, kind) => {
    const completed = new URL(completeLogin("postgresql://db/records", logins, boot, services));
    expect(completed.username).toBe(`records_${kind}`);
    expect(decodeURIComponent(completed.password)).toBe(passwordOf(kind, "records", logins, boot));
  });
  it("has a password of its own by kind, database and secret, or the one that was set", () => {
    const others = [
      passwordOf("login", "other", logins, boot),
      passwordOf("login", "records", logins, `${boot}x`),
      passwordOf("accounts", "records", logins, boot),
      passwordOf("crypto", "records", logins, boot),
    ];
    expect(new Set([password, ...others]).size).toBe(5);
    const set = { ...logins, passwords: { crypto: "set-by-the-operator" } };
    expect(passwordOf("crypto", "records", set, undefined)).toBe("set-by-the-operator");
    expect(() => passwordOf("login", "records", set, undefined)).toThrow(
      /DATABASE_PASSWORD_LOGIN must be set/,
    );
  });
  it("is none where no login has what is needed", () => {
    const few = { ...logins, kinds: defaultLogins.filter(({ kind }) => kind !== "login") };
    expect(() => completeLogin("postgresql://db/records", few, boot, ["auth", "crypto"])).toThrow(
      /^DATABASE_LOGINS has no login with what this process needs \(auth, crypto\)\.$/,
    );
  });
});

/** It is told to wait for the schema, and does until the test migrates. */
let waiting: RunningProcess | undefined;
let waitingHealth = "";
afterAll(() => waiting?.stop());

async function patient(): Promise<{ running: RunningProcess; health: string }> {
  const port = await freePort();
  const settings = { HEALTH_PORT: String(port), SCHEMA_WAIT_SECONDS: "600" };
  const running = runProcess({ ...application, ...settings });
  await running.printed(/Not ready yet\. .*if this database is new, run `npm run migrate` first\./);
  return { running, health: `http://127.0.0.1:${port}` };
}

describe("before the database was prepared", () => {
  it("a process that is to wait for it is alive, not ready, says why once, and can be stopped", async () => {
    ({ running: waiting, health: waitingHealth } = await patient());
    expect((await fetch(`${waitingHealth}/livez`)).status).toBe(200);
    expect((await fetch(`${waitingHealth}/readyz`)).status).toBe(503);
    const { running } = await patient();
    expect(await running.stop()).toBe(0);
    expect(running.output().match(/Not ready yet/g)).toHaveLength(1);
  });
  it("a service that may not migrate says what has to be done first", async () => {
    expect(await ended(application, start)).toEqual({
      code: 1,
      said: [
        'The database cannot be reached with DATABASE_APP_URL: password authentication failed for user "records_login"; if this database is new, run `npm run migrate` first.',
      ],
    });
  });
  it.each([
    ["the owner's login is not given", () => ({ BOOT_SECRET: bootSecret }), /^DATABASE_URL \(or .+\.$/],
    ["the secret is not given", () => ({ DATABASE_URL: database.url }), /^BOOT_SECRET \(or .+\.$/],
    ["a setting is wrong", () => ({ ...owner, DATABASE_URL: "mysql://x/y" }), /^DATABASE_URL must be .+\.$/],
    ["nobody answers", () => ({ ...owner, DATABASE_URL: "postgresql://a:b@127.0.0.1:1/x" }), /ECONNREFUSED/],
  ])("nothing is migrated when %s", async (_name, env, sentence) => {
    expect(await ended(env(), migrate)).toEqual({ code: 1, said: [expect.stringMatching(sentence)] });
    const { rows } = await database.owner.query("select to_regclass('users') as users");
    expect(rows).toEqual([{ users: null }]);
  });
});

describe("once it was prepared", () => {
  const names = defaultLogins.map(({ kind }) => `records_${kind}`).join(", ");
  const ready = `The database is ready for this version; its services work as ${names}.`;
  it("two at a time and one again say the same single line, without the password, and leave no folder", async () => {
    const settings = { ...owner, DATA_DIR: application["DATA_DIR"] ?? "", NODE_ENV: "production" };
    const first = await Promise.all([ended(settings, migrate), ended(settings, migrate)]);
    for (const each of [...first, await ended(settings, migrate)]) {
      expect(each).toEqual({ code: 0, said: [ready] });
    }
    expect(existsSync(settings.DATA_DIR)).toBe(false);
  });

  it("the process that waited for it is ready", async () => {
    const url = await addressOf(waiting as RunningProcess); // Started by the test before.
    expect((await callApi(url, "GET", "/api/auth/tenants")).status).toBe(200);
    await eventually(async () => (await fetch(`${waitingHealth}/readyz`)).status === 200);
    expect(waiting?.output().match(/Not ready yet/g)).toHaveLength(1);
    expect(await waiting?.stop()).toBe(0);
  });

  it("a service without the owner's login starts on it and serves", async () => {
    const running = runProcess(application);
    try {
      const url = await addressOf(running);
      const body = { email: "admin@platform.example", subdomain: "platform", password: demoPassword };
      expect((await callApi(url, "POST", "/api/auth/login", { body })).status).toBe(200);
      const { rows } = await database.owner.query(
        "select distinct usename from pg_stat_activity where application_name = 'records'",
      );
      expect(rows).toEqual([{ usename: "records_login" }]);
    } finally {
      expect(await running.stop()).toBe(0);
    }
  });

  it("the application's login reads which migrations ran and may not change it", async () => {
    const client = new pg.Client({
      connectionString: completeLogin(application["DATABASE_APP_URL"] ?? "", logins, bootSecret, undefined),
    });
    await client.connect();
    try {
      const { rows } = await client.query("select name from mikro_orm_migrations");
      expect(rows.length).toBeGreaterThan(0);
      for (const change of ["delete from mikro_orm_migrations", "create table mine (id integer)"]) {
        await expect(client.query(change)).rejects.toThrow(/permission denied/);
      }
    } finally {
      await client.end();
    }
  });

  it("another BOOT_SECRET does not open the database", async () => {
    const { code, said } = await ended({ ...application, BOOT_SECRET: `${bootSecret}x` }, start);
    expect({ code, said }).toEqual({ code: 1, said: [expect.stringMatching(/authentication failed/)] });
  });

  it("a URL that names the owner is refused as it is elsewhere", async () => {
    const { code, said } = await ended({ ...application, DATABASE_APP_URL: database.url }, start);
    expect({ code, said }).toEqual({
      code: 1,
      said: [expect.stringMatching(/may bypass row-level security/)],
    });
  });
});

describe("a database of another age", () => {
  async function withMigrations(change: string, undo: string, work: () => Promise<void>): Promise<void> {
    await database.owner.query(change);
    try {
      await work();
    } finally {
      await database.owner.query(undo);
    }
  }
  const renamed = (from: string, to: string) =>
    `update mikro_orm_migrations set name = regexp_replace(name, '${from}', '${to}') where id = (select max(id) from mikro_orm_migrations)`;
  const older =
    "The database's schema is older than this program: run `npm run migrate` first, with the owner's login as DATABASE_URL.";

  it.each([
    [
      "one migration is missing",
      "create table kept as select * from mikro_orm_migrations; delete from mikro_orm_migrations where id = (select max(id) from mikro_orm_migrations)",
      "insert into mikro_orm_migrations select * from kept on conflict do nothing; drop table kept",
    ],
    [
      "the list may not be read",
      "revoke select on mikro_orm_migrations from records_login",
      "grant select on mikro_orm_migrations to records_login",
    ],
  ])("older: refused with one sentence when %s", async (_name, change, undo) => {
    await withMigrations(change, undo, async () => {
      expect(await ended(application, start)).toEqual({ code: 1, said: [older] });
    });
  });

  it("newer, and too new for this version: both say which is the oldest that will do", async () => {
    const note =
      "; insert into schema_compatibility select name, '999.0.0', '999.1.0' from mikro_orm_migrations where name like '9999%'";
    const undo = "; delete from schema_compatibility where migration like '9999%'";
    await withMigrations(renamed("^", "9999-") + note, renamed("^9999-", "") + undo, async () => {
      for (const [env, program] of [
        [application, start],
        [owner, migrate],
      ] as const) {
        const sentence =
          /^The database was migrated by a newer version .+, beside which 999\.0\.0 is the oldest that works, and this is \d.+: start 999\.0\.0 or later\.$/;
        expect(await ended(env, program)).toEqual({ code: 1, said: [expect.stringMatching(sentence)] });
      }
    });
  });

  it("newer: refused by services and by the migration alike", async () => {
    await withMigrations(renamed("^", "9999-"), renamed("^9999-", ""), async () => {
      for (const [env, program] of [
        [application, start],
        [owner, migrate],
      ] as const) {
        expect(await ended(env, program)).toEqual({
          code: 1,
          said: [expect.stringMatching(/^The database was migrated by a newer version .+ start that one\.$/)],
        });
      }
    });
  });

  it("nothing of the refused starts is left connected", async () => {
    await eventually(async () => {
      const { rows } = await database.owner.query(
        "select from pg_stat_activity where usename in ('records_login', 'postgres') and pid <> pg_backend_pid() and backend_type = 'client backend'",
      );
      return rows.length === 0;
    });
  });
});
