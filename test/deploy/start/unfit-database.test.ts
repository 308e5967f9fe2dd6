// A database of the operator's own that cannot be used (version, encoding, rights): it is refused with one sentence before
// anything is written.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { type ServerFacts, reasonNotToFit } from "../../../host/database/server-fit.ts";
import { runProcess, startDatabase, type TestDatabase, testSettings } from "../../support/service.ts";

let server: TestDatabase;
beforeAll(async () => {
  server = await startDatabase();
});
afterAll(() => server.stop());

const remedy = "create one with the encoding UTF8 and a locale such as C.UTF-8 or en_US.UTF-8.";

async function made(name: string, how: string): Promise<string> {
  await server.owner.query(`create database ${name} template template0 ${how}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

async function ended(url: string, program: string) {
  const running = runProcess({ ...testSettings(server), DATABASE_URL: url }, program);
  return { code: await running.exited, said: running.output().trimEnd() };
}

async function tablesOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "select count(*)::integer as tables from pg_class where relnamespace = 'public'::regnamespace",
    );
    return rows[0].tables;
  } finally {
    await client.end();
  }
}

const libc = "locale_provider libc locale 'C'";

describe("a database of one's own", () => {
  it.each([
    ["only_ascii", `encoding 'UTF8' ${libc}`, "folds the case of ASCII letters only"],
    ["no_encoding", `encoding 'SQL_ASCII' ${libc}`, "has the encoding SQL_ASCII"],
    // It has no Ä at all.
    ["cyrillic", `encoding 'WIN1251' ${libc}`, "has the encoding WIN1251"],
  ])("%s is refused with one sentence, and nothing is written", async (name, how, found) => {
    const url = await made(name, how);
    for (const program of ["host/migrate.ts", "host/start.ts"])
      expect(await ended(url, program)).toEqual({
        code: 1,
        said: `The database of DATABASE_URL ${found}: ${remedy}`,
      });
    expect(await tablesOf(url)).toBe(0);
  });

  it.each([
    ["of_libc", "encoding 'UTF8' locale_provider libc locale 'C.UTF-8'"],
    ["builtin", "encoding 'UTF8' locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'"],
  ])("%s is taken", async (name, how) => {
    expect((await ended(await made(name, how), "host/migrate.ts")).code).toBe(0);
  });
});

describe("what is looked at before the first write", () => {
  const fit: ServerFacts = {
    version: 180_004,
    encoding: "UTF8",
    foldsCase: true,
    readOnly: false,
    login: "me",
    database: "clinic",
    mayMakeRoles: true,
    missingRoles: ["records_app"],
    foreignRoles: [],
    mayMakeSchemas: true,
    mayMakeTables: true,
    missingExtensions: [],
  };
  it.each<[string, Partial<ServerFacts>]>([
    ["the oldest version that will do", { version: 160_000 }],
    ["no right to make roles, where none is missing", { mayMakeRoles: false, missingRoles: [] }],
  ])("%s is taken", (_name, facts) => expect(reasonNotToFit({ ...fit, ...facts })).toBeUndefined());

  it.each<[Partial<ServerFacts>, RegExp]>([
    [{ version: 150_008 }, /is on PostgreSQL 15\.8: use 16 or later/],
    // Version first: an administrator who has to move would do everything else for nothing.
    [{ version: 90_624, encoding: "LATIN1", mayMakeRoles: false }, /is on PostgreSQL 9\.624: use 16/],
    [{ readOnly: true }, /takes no changes .+: name the primary\.$/],
    [
      { missingExtensions: ["btree_gin"] },
      /without btree_gin: install PostgreSQL's contrib modules there\.$/,
    ],
    [
      { mayMakeRoles: false },
      /^The login me of DATABASE_URL may make no roles \(1 are missing\): give it CREATEROLE, or have an administrator run what `npm run roles` prints;/,
    ],
    [
      { foreignRoles: ["records_app", "records_chain"] },
      /^The login me of DATABASE_URL may not pass on records_app, records_chain, which somebody else made: have an administrator run what `npm run roles` prints;/,
    ],
    [{ mayMakeSchemas: false }, /may make no schemas in the database clinic: make it the owner;/],
    [{ mayMakeTables: false }, /may make no tables in the database clinic: make it the owner;/],
  ])("%j is refused", (facts, sentence) => expect(reasonNotToFit({ ...fit, ...facts })).toMatch(sentence));

  it.each([
    ["without CREATEROLE", "create role poor login password 'p'", "owner poor", /may make no roles/],
    ["of another's database", "create role guest login createrole password 'p'", "", /may make no schemas/],
  ])("an owner %s gets one sentence, and nothing is written", async (_name, role, how, sentence) => {
    await server.owner.query(role);
    const login = /role (\w+)/.exec(role)?.[1] ?? "";
    const superuser = await made(`of_${login}`, how);
    const url = new URL(superuser);
    Object.assign(url, { username: login, password: "p" });
    for (const program of ["host/migrate.ts", "host/start.ts"]) {
      const { code, said } = await ended(url.href, program);
      expect([code, said.split("\n")]).toEqual([1, [expect.stringMatching(sentence)]]);
    }
    expect(await tablesOf(superuser)).toBe(0);
  });
});
