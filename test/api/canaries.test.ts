// Secrets and texts of people, each a word of its own, sent through every operation at the log level that says most.
// Then every place something could have been left in is searched: the log, refusals, the audit log, the outbox, the job
// queue, and all other tables. The table says for each where it may stand; anywhere else it is a leak.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { contractOf, routes } from "../../services/api-gateway/routes.ts";
import { eventually } from "../support/service.ts";
import type { WireAnswer } from "../contract/walk/wire.ts";
import { type Person, World } from "../contract/walk/world.ts";

/** Where it may stand beside nowhere: tables, and `answers` of calls that succeeded. */
const mayStand: Readonly<Record<string, readonly string[]>> = {
  loginPassword: [],
  wrongPassword: [],
  passwordAsEmail: [],
  createPassword: [],
  createPasswordRefused: [],
  registerPassword: [],
  registerPasswordRefused: [],
  resetPassword: [],
  resetPasswordRefused: [],
  accessToken: [],
  wrongAccessToken: [],
  basicPassword: [],
  wrongResetToken: [],
  wrongVerifyToken: [],
  wrongVerifyTokenTwice: [],
  userSearch: [],
  userSearchEncoded: [],
  departmentSearch: [],
  auditActionFilter: [],
  unknownField: [],
  unknownQuery: [],
  brokenJson: [],
  wrongType: [],
  wrongMediaType: [],
  cookie: [],
  referer: [],
  pathText: [],
  refusedEmail: [],
  takenName: [],
  forbiddenName: [],
  createdEmail: ["users", "answers"],
  createdName: ["users", "answers"],
  registeredEmail: ["users", "answers"],
  registeredName: ["users", "answers"],
  preference: ["preferences", "answers"],
  tenantSetting: ["tenants", "answers"],
  tenantName: ["tenants", "answers"],
  departmentName: ["departments", "audit_entries", "answers"],
  // Whoever asks for a mail is looked for when it is sent, so its job holds the address until then.
  resetEmail: ["jobs", "users"],
  // People type passwords there: an account that is not there is counted without it.
  unknownLoginEmail: [],
  userAgent: ["audit_entries", "audit_repeats", "sessions"],
};
type Canary = keyof typeof mayStand;

const words = new Map(Object.keys(mayStand).map((name, i) => [name, `canary${i}q${name.toLowerCase()}z`]));
const word = (name: Canary): string => words.get(name) ?? "";

interface Told {
  what: string;
  answer: WireAnswer;
}

let world: World;
let admin: string;
const told: Told[] = [];

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const authorization = `Bearer ${admin}`;
  const all = {
    authorization,
    "content-type": "application/json",
    "user-agent": word("userAgent"),
    ...headers,
  };
  const answer = await world.wire.send({ method, path, body: text, headers: all });
  told.push({ what: `${method} ${path}`, answer });
  return answer;
}

const secretWord = (name: Canary) => `${word(name)}-Aa1!`;

async function signingIn(): Promise<void> {
  const { email } = await world.addUser(world.tenants.own.id);
  const demo = { subdomain: "demo" };
  await send("POST", "/api/auth/login", { ...demo, email, password: word("loginPassword") });
  await send("POST", "/api/auth/login", { ...demo, email, password: secretWord("wrongPassword") });
  await send("POST", "/api/auth/login", {
    ...demo,
    email: `${word("unknownLoginEmail")}@people.example`,
    password: "x",
  });
  await send("POST", "/api/auth/login", {
    ...demo,
    email: [word("passwordAsEmail")],
    password: { a: word("passwordAsEmail") },
  });
  await send("GET", "/api/users/me", undefined, { authorization: `Bearer ${word("wrongAccessToken")}` });
  await send("GET", "/api/users/me", undefined, { authorization: `Basic ${word("basicPassword")}` });
  await send("GET", "/api/users/me", undefined, {
    cookie: `a=${word("cookie")}`,
    referer: `http://x/${word("referer")}`,
  });
}

async function registering(): Promise<void> {
  const account = { subdomain: "demo", role: "nurse" };
  const registered = {
    ...account,
    email: `${word("registeredEmail")}@people.example`,
    full_name: word("registeredName"),
    password: secretWord("registerPassword"),
  };
  await send("POST", "/api/auth/register", registered);
  const refused = {
    ...registered,
    // Taken, and verified: it is not registered anew.
    email: "nurse@demo.example",
    password: secretWord("registerPasswordRefused"),
    full_name: word("takenName"),
  };
  await send("POST", "/api/auth/register", refused);
  await send("POST", "/api/auth/register", { ...refused, role: "admin", full_name: word("forbiddenName") });
  await send("POST", "/api/auth/register", {
    ...refused,
    email: `${word("refusedEmail")}@people`,
    department_id: 99999,
  });
  await send("POST", "/api/auth/verify-email?token=" + word("wrongVerifyToken"));
  await send("POST", `/api/auth/verify-email?token=a&token=${word("wrongVerifyTokenTwice")}&x[]=1`);
}

async function resetting(person: Person): Promise<void> {
  await world.sql("update users set email = $2 where id = $1", [
    person.id,
    `${word("resetEmail")}@people.example`,
  ]);
  const account = { email: `${word("resetEmail")}@people.example`, subdomain: "demo" };
  await send("POST", "/api/auth/request-reset", account);
  await send("POST", "/api/auth/resend-verification", account);
  const password = secretWord("resetPasswordRefused");
  await send("POST", "/api/auth/reset-password", { token: word("wrongResetToken"), new_password: password });
  const token = await world.addMailToken(await world.addUser(world.tenants.own.id), "reset_password");
  await send("POST", "/api/auth/reset-password", { token, new_password: secretWord("resetPassword") });
  await send("POST", "/api/auth/reset-password", { token, new_password: secretWord("resetPassword") });
}

async function administering(): Promise<void> {
  const user = {
    email: `${word("createdEmail")}@people.example`,
    full_name: word("createdName"),
    password: secretWord("createPassword"),
    role: "nurse",
  };
  await send("POST", "/api/admin/users", user);
  await send("POST", "/api/admin/users", {
    ...user,
    password: secretWord("createPasswordRefused"),
    full_name: word("takenName"),
  });
  await send("POST", "/api/admin/users", { ...user, role: "superadmin", full_name: word("forbiddenName") });
  await send("POST", "/api/admin/users", {
    ...user,
    email: word("wrongType"),
    password: 5,
    role: word("wrongType"),
  });
  await send("POST", "/api/admin/departments", {
    name: word("departmentName"),
    secret: word("unknownField"),
  });
  await send("PUT", `/api/admin/tenants/${world.tenants.own.id}`, {
    name: word("tenantName"),
    settings: { registration: "open", note: word("tenantSetting") },
  });
  await send("PUT", "/api/preferences", { settings: { note: word("preference") } });
  await send("GET", `/api/admin/users?search=${word("userSearch")}&page=1`);
  await send(
    "GET",
    `/api/admin/users?search=%20${word("userSearchEncoded")}%25&sort_by=${word("userSearchEncoded")}`,
  );
  await send("GET", `/api/admin/departments?search=${word("departmentSearch")}`);
  await send(
    "GET",
    `/api/admin/audit?action=${word("auditActionFilter")}.x&from_date=${word("auditActionFilter")}`,
  );
  await send("GET", `/api/users/me?secret=${word("unknownQuery")}`);
  await send("GET", `/api/admin/tenants/${word("pathText")}`);
  await send("GET", `/api/${word("pathText")}?q=${word("pathText")}`);
}

/** Every operation that takes a body, with bodies that are none. */
async function failing(): Promise<void> {
  for (const route of routes) {
    const { body } = contractOf(route);
    if (body === undefined) continue;
    const path = route.path.replaceAll(/\{\w+\}/g, "1");
    await send(route.method, path, `{"a": "${word("brokenJson")}", "b": `);
    await send(route.method, path, `["${word("wrongType")}"]`);
    await send(route.method, path, word("wrongMediaType"), { "content-type": "text/plain" });
    const fields = Object.keys(body).map((name) => [name, [word("wrongType")]]);
    await send(route.method, path, Object.fromEntries([...fields, ["password_hash", word("unknownField")]]));
  }
}

/** The database fails under a change: what the driver and the ORM then say quotes values. */
async function breaking(): Promise<void> {
  await world.sql("alter table preferences rename column settings to mislaid");
  await send("PUT", "/api/preferences", { settings: { note: word("wrongType") } });
  await world.sql("alter table preferences rename column mislaid to settings");
  await world.sql("alter table users add constraint nobody check (full_name <> 'Nobody')");
  await send("POST", "/api/admin/users", {
    email: `${word("refusedEmail")}@people.example`,
    full_name: "Nobody",
    password: secretWord("createPasswordRefused"),
    role: "nurse",
  });
  await world.sql("alter table users drop constraint nobody");
}

beforeAll(async () => {
  world = await World.open({ LOG_LEVEL: "trace" });
  const person = await world.addUser(world.tenants.own.id, "admin");
  admin = await world.openSession(person);
  // The token of this very session is a canary too, in the place of a word.
  words.set("accessToken", admin.split(".")[2] ?? "");
  await signingIn();
  await registering();
  await resetting(await world.addUser(world.tenants.own.id));
  await administering();
  await failing();
  await breaking();
  await world.jobsDone();
  await send("POST", "/api/auth/logout");
  // The last line of the log is there when the last request's is.
  await eventually(async () => world.service.process.output().includes("/api/auth/logout"));
});
afterAll(() => world.stop());

const names = Object.keys(mayStand);
const holds = (text: string) => names.filter((name) => text.includes(word(name)));

it("there are at least 30 of them, and each was sent", () => {
  expect(names.length).toBeGreaterThanOrEqual(30);
  expect(told.length).toBeGreaterThan(80);
  expect(new Set(words.values()).size).toBe(names.length);
});

it("the calls ended in every way there is", () => {
  const statuses = new Set(told.map(({ answer }) => answer.status));
  expect([...statuses].sort()).toEqual([200, 201, 202, 204, 400, 401, 403, 404, 409, 422, 500]);
});

it("none stands in the log", () => {
  const output = world.service.process.output();
  expect(output.split("\n").length).toBeGreaterThan(told.length);
  expect(holds(output)).toEqual([]);
});

it("none stands in a refusal, and no password or token in any answer", () => {
  const found = told.flatMap(({ what, answer }) => {
    const allowed = (name: string) => answer.status < 300 && mayStand[name]?.includes("answers") === true;
    const text = answer.text + JSON.stringify(answer.headers);
    return holds(text).flatMap((name) => (allowed(name) ? [] : [`${name} in ${what}`]));
  });
  expect(found).toEqual([]);
});

describe("in the database", () => {
  async function textsOf(table: string): Promise<string> {
    const rows = await world.sql<{ text: string }>(`select t::text as text from ${table} t`);
    // Also what is stored as bytes: they are shown in hex.
    return rows
      .map(({ text }) => text + Buffer.from(text.replaceAll(/[^0-9a-f]/g, ""), "hex").toString())
      .join("\n");
  }

  it("each stands only where the table says, in no other table of any schema", async () => {
    const tables = await world.sql<{ name: string; short: string }>(
      `select format('%I.%I', schemaname, tablename) as name, tablename as short from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    expect(tables.length).toBeGreaterThan(15);
    const found: string[] = [];
    for (const { name, short } of tables) {
      const place = name.startsWith("graphile_worker.") ? "jobs" : short;
      for (const canary of holds(await textsOf(name))) {
        if (mayStand[canary]?.includes(place) !== true) found.push(`${canary} in ${name}`);
      }
    }
    expect(found).toEqual([]);
  });

  it("where they may stand they do, so the search finds what is there", async () => {
    const expected = ["createdEmail", "createdName", "registeredEmail", "registeredName", "resetEmail"];
    expect(holds(await textsOf("users")).sort()).toEqual(expected);
    expect(holds(await textsOf("audit_entries"))).toContain("userAgent");
    expect(await textsOf("lockouts")).toMatch(/ghost:\d+/);
    expect(holds(await textsOf("preferences"))).toEqual(["preference"]);
  });

  it("audit log, outbox and job queue name people by their ids", async () => {
    const people = ["createdEmail", "createdName", "registeredEmail", "registeredName", "resetEmail"];
    for (const table of ["audit_entries", "events", "graphile_worker._private_jobs"]) {
      const found = holds(await textsOf(table));
      expect([table, found.filter((name) => people.includes(name))]).toEqual([table, []]);
    }
  });
});

it("a mail holds its own token and the addressee, and no password", async () => {
  const folder = join(world.service.database.folder, "data", "mail");
  const files = (await readdir(folder)).filter((file) => file.endsWith(".eml"));
  expect(files.length).toBeGreaterThanOrEqual(2);
  for (const file of files) {
    const found = holds(await readFile(join(folder, file), "utf8"));
    const allowed = ["registeredEmail", "registeredName", "resetEmail", "tenantName"];
    expect(found.filter((name) => !allowed.includes(name))).toEqual([]);
  }
});
