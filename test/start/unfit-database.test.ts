// A database of the operator's own in which e-mails and record numbers could not be told apart whatever their case: it is
// refused before anything is written.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { runProcess, startDatabase, type TestDatabase, testSettings } from "../support/service.ts";

let server: TestDatabase;
beforeAll(async () => {
  server = await startDatabase();
}, 60_000);
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
  ])(
    "%s is refused with one sentence, and nothing is written",
    async (name, how, found) => {
      const url = await made(name, how);
      for (const program of ["services/migrate.ts", "services/start.ts"])
        expect(await ended(url, program)).toEqual({
          code: 1,
          said: `The database of DATABASE_URL ${found}: ${remedy}`,
        });
      expect(await tablesOf(url)).toBe(0);
    },
    60_000,
  );

  it.each([
    ["of_libc", "encoding 'UTF8' locale_provider libc locale 'C.UTF-8'"],
    ["builtin", "encoding 'UTF8' locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'"],
  ])(
    "%s is taken",
    async (name, how) => {
      expect((await ended(await made(name, how), "services/migrate.ts")).code).toBe(0);
    },
    60_000,
  );
});
