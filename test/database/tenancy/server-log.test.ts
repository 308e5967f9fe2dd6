// What PostgreSQL writes into its own log when a statement fails: never a value, whoever made the statement.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { bindMarks } from "../../../services/shared/database/bound-values.ts";
import {
  addressOf,
  type Answer,
  callApi,
  demoPassword,
  people,
  type RunningProcess,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../../support/service.ts";

const canary = { email: "canaryperson@people.example", full_name: "Wilhelmina Canaryfield" };
let database: TestDatabase;
let running: RunningProcess;
let url: string;
let token: string;
let userId: number;
let hash: string;

const call = (method: string, path: string, body: unknown): Promise<Answer> =>
  callApi(url, method, path, { body, ...(token === undefined ? {} : { token }) });

beforeAll(async () => {
  database = await startDatabase();
  // As a server does that nobody has set up: it logs failed statements, and what they failed of.
  for (const setting of [
    "log_min_messages = 'warning'",
    "log_min_error_statement = 'error'",
    "log_error_verbosity = 'default'",
  ])
    await database.owner.query(`alter database records set ${setting}`);
  running = runProcess(testSettings(database));
  url = await addressOf(running);
  const [email, subdomain] = people.admin;
  const signedIn = await call("POST", "/api/auth/login", { email, subdomain, password: demoPassword });
  token = signedIn.body.access_token;
  const made = await call("POST", "/api/admin/users", { ...canary, password: demoPassword, role: "nurse" });
  userId = made.body.id;
  const { rows } = await database.owner.query("select password_hash from users where id = $1", [userId]);
  hash = rows[0].password_hash;
  await database.owner.query(`
    create function refuse_canary() returns trigger language plpgsql as
      $$ begin raise exception 'refused for the test' using errcode = '23514'; end $$;
    create trigger canary before insert or update on users for each row when (new.full_name like '%Canary%')
      execute function refuse_canary()`);
});
afterAll(async () => {
  await running.stop();
  await database.stop();
});

/** What the server has logged meanwhile; a line of our own marks its end. */
async function logged(work: () => Promise<unknown>): Promise<string> {
  const from = database.serverLog().length;
  await work();
  const end = `end of the look at ${from}`;
  const fresh = new pg.Client({ connectionString: database.url });
  await fresh.connect();
  await fresh.query(`do $$ begin raise exception '${end}'; end $$`).catch(() => undefined);
  await fresh.end();
  await database.serverLogged(end);
  return database.serverLog().slice(from);
}

it("a statement that fails is logged without its values: MikroORM's, and ours", async () => {
  const lines = await logged(async () => {
    const another = { email: "second-canary@people.example", full_name: "Second Canary" };
    const inserted = await call("POST", "/api/admin/users", {
      ...another,
      password: demoPassword,
      role: "nurse",
    });
    const updated = await call("PUT", `/api/admin/users/${userId}/role`, { role: "doctor" });
    expect([inserted.status, updated.status]).toEqual([500, 500]);
  });
  expect(lines).toContain("refused for the test");
  expect(lines).toMatch(/STATEMENT: +insert into "users"[^\n]*\$1/);
  expect(lines).toMatch(/STATEMENT: +update "users"[^\n]*\$1/);
  for (const secret of ["second-canary", "Second Canary", "$argon2id", hash, canary.email, canary.full_name])
    expect(lines).not.toContain(secret);
});

describe("MikroORM's marks", () => {
  const bind = (sql: string, params: unknown[]) => bindMarks(sql, params, (name) => `"${name}"`);
  it.each([
    ["select ?, ?", [1, "?"], "select $1, $2", [1, "?"]],
    ["select ?? from ?? where a = ?", ["a", "b", 3], 'select "a" from "b" where a = $1', [3]],
    ["select a \\? 'b' and c = ?", [1], "select a ? 'b' and c = $1", [1]],
    [
      "update t set a = ? where b = ?",
      [{ sql: "now() - ?::interval", params: ["1 day"] }, 2],
      "update t set a = now() - $1::interval where b = $2",
      ["1 day", 2],
    ],
    ["insert into t values (?)", [{ deep: { a: 1 } }], "insert into t values ($1)", ['{"deep":{"a":1}}']],
    ["select 1", [], "select 1", []],
  ])("%s", (sql, params, text, values) => {
    expect(bind(sql, params)).toEqual({ text, values });
  });
  it("dates, bytes and lists are left to the driver", () => {
    const given = [new Date(0), Buffer.from("a"), ["b"], null];
    expect(bind("values (?, ?, ?, ?)", given).values).toEqual(given);
  });
});
