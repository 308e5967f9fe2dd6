// `npm run cli` beside the running service, as a program meets it: every command of the table once, what is refused, exit codes,
// JSON, and whose name is in the audit log.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { readdir } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { commands } from "../../../operators/commands/table.ts";
import { joinService } from "../../../operators/join.ts";
import type { ServiceConnection } from "../../../operators/service-connection.ts";
import { readRequest } from "../../../operators/request.ts";
import { failed, runRequest } from "../../../operators/run-request.ts";
import { type Clinic, makePatient, openClinic } from "../backups/scene.ts";
import { type Ended, runCli } from "../../support/cli.ts";
import { startService, type TestService } from "../../support/service.ts";
import { makeUser } from "../../support/tenancy.ts";

const account = userInfo().username;

let service: TestService;
let superadmin: string;
let clinic: Clinic;
let env: Record<string, string>;
let joined: ServiceConnection;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await openClinic(service, superadmin);
  env = { DATA_DIR: service.settings["DATA_DIR"] ?? "" };
  joined = await joinService({ env, operator: account, alone: undefined, onEnd: () => {} });
});
afterAll(async () => {
  await joined?.leave();
  await service?.stop();
});

const ran = new Set<string>();

/**
 * As the program runs it, but within this process: forty programs are half a minute. The command's name first, then its
 * arguments.
 */
async function cli(name: string, ...args: string[]): Promise<Ended> {
  ran.add(name);
  const said: Ended = { code: null, out: "", err: "" };
  const screen = {
    out: (text: string) => void (said.out += `${text}\n`),
    err: (text: string) => void (said.err += `${text}\n`),
    width: 10_000,
    stream: process.stderr,
    ask: undefined,
    signal: new AbortController().signal,
  };
  try {
    said.code = await runRequest(joined, readRequest([...name.split(" "), ...args]), screen);
  } catch (error) {
    said.code = failed(error, screen, args.includes("--json"));
  }
  return said;
}

// biome-ignore lint/suspicious/noExplicitAny: answers have every shape
async function answered(name: string, ...args: string[]): Promise<any> {
  const { code, out, err } = await cli(name, ...args, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

/** The newest entries of an action, with the operator's name. */
async function entries(action: string): Promise<{ target_id: string; operator: string }[]> {
  const { rows } = await service.database.owner.query(
    "select target_id, changes ->> 'operator' as operator from audit_entries where action = $1 order by id desc",
    [action],
  );
  return rows;
}

const lastOf = async (action: string) => (await entries(action))[0];

describe("what only looks", () => {
  it("answers tables for people", async () => {
    const [health, nodes, tenants, users, jobs] = await Promise.all([
      cli("health"),
      cli("nodes"),
      cli("tenants"),
      cli("users", "--tenant", String(clinic.id)),
      cli("jobs"),
    ]);
    for (const { code, err } of [health, nodes, tenants, users, jobs]) expect([code, err]).toEqual([0, ""]);
    expect(health.out).toMatch(/^status +ok$/m);
    expect(nodes.out).toMatch(/^node +state +host +services$/m);
    expect(tenants.out).toMatch(new RegExp(`^${clinic.id} +${clinic.subdomain} `, "m"));
    expect(users.out).toContain(clinic.admin.email);
    expect(jobs.out).toMatch(/^(?:id +task +state|None)/);
  });

  it("answers one JSON document for programs", async () => {
    const [users, audit, log, deleted, gone, deliveries] = await Promise.all([
      answered("users", "--search", clinic.admin.email, "--active", "true", "--limit", "1"),
      answered("audit", "--tenant", String(clinic.id), "--action", "user.*", "--from", "2020-01-01"),
      answered("loglevel"),
      answered("tenants deleted"),
      answered("users deleted", "--tenant", String(clinic.id)),
      answered("deliveries", "--tenant", String(clinic.id)),
    ]);
    expect(users).toMatchObject({ total: 1, items: [{ id: clinic.admin.id }] });
    expect(audit.items[0]).toMatchObject({ action: "user.create", tenant_id: clinic.id });
    expect(log.items[0].levels).toContain("main info");
    expect([deleted.items, gone.items, deliveries.items]).toEqual([[], [], []]);
    const [cache, rotation, backups, incidents, fixes, proof] = await Promise.all([
      answered("cache"),
      answered("rotation"),
      answered("backup list"),
      answered("incidents", "--status", "open"),
      answered("fixes"),
      answered("audit verify", String(clinic.id)),
    ]);
    expect(cache).toMatchObject({ nodes: 1 });
    expect(rotation).toMatchObject({ key_version: 1, rotation: null });
    expect([backups.items, incidents.items]).toEqual([[], []]);
    expect(fixes.total).toBe(fixes.items.length);
    expect(proof).toMatchObject({ ok: true, first_bad_seq: null });
  });

  it("writes nothing beside the service", async () => {
    const before = await readdir(env["DATA_DIR"] ?? "");
    expect((await runCli(env, "health")).code).toBe(0);
    expect(await readdir(env["DATA_DIR"] ?? "")).toEqual(before);
  });
});

describe("what changes", () => {
  it("tenants: made, off, on, deleted, brought back, under the operator's name", async () => {
    const made = await answered("tenants create", "commands", "Clinic of Commands");
    expect(made).toMatchObject({ subdomain: "commands", name: "Clinic of Commands", is_active: true });
    expect(await lastOf("tenant.create")).toEqual({ target_id: String(made.id), operator: account });
    const id = String(made.id);
    expect(await answered("tenants deactivate", id)).toMatchObject({ is_active: false });
    expect(await lastOf("tenant.update")).toEqual({ target_id: id, operator: account });
    expect(await answered("tenants activate", id)).toMatchObject({ is_active: true });
    expect(await cli("tenants delete", id)).toEqual({
      code: 2,
      out: "",
      err: "tenants delete destroys something: say --yes where nobody can be asked.\n",
    });
    expect(await answered("tenants delete", id, "--yes")).toEqual({ deleted: true });
    expect(await lastOf("tenant.delete")).toEqual({ target_id: id, operator: account });
    expect((await answered("tenants deleted")).items).toMatchObject([{ id: made.id }]);
    expect(await answered("tenants restore", id)).toMatchObject({ id: made.id });
    expect(await cli("tenants restore", id)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^409 not_deleted: /),
    });
    expect(await cli("tenants create", "commands", "Again", "--json")).toEqual({
      code: 1,
      out: "",
      err: expect.stringContaining('{"error":{"code":"subdomain_taken","status":409,'),
    });
  });

  it("users: blocked, unlocked, another role, deleted, brought back", async () => {
    const { id } = await makeUser(service, superadmin, { tenant_id: clinic.id, role: "nurse" });
    const user = String(id);
    expect(await answered("block", user)).toMatchObject({ id, is_active: false });
    expect(await lastOf("user.block")).toEqual({ target_id: user, operator: account });
    expect(await answered("unlock", user)).toMatchObject({ id, is_active: true });
    expect(await lastOf("user.unblock")).toEqual({ target_id: user, operator: account });
    expect(await answered("users role", user, "doctor")).toMatchObject({ role: "doctor" });
    expect(await cli("users role", user, "king")).toMatchObject({ code: 2, out: "" });
    expect(await cli("users delete", user)).toMatchObject({ code: 2, out: "" });
    expect(await answered("users delete", user, "--yes")).toEqual({ deleted: true });
    expect(await lastOf("user.delete")).toEqual({ target_id: user, operator: account });
    expect(await cli("block", user)).toEqual({ code: 1, out: "", err: "404 not_found: User not found\n" });
    expect(await answered("users restore", user)).toMatchObject({ id });
  });

  it("the log, the cache, the keys", async () => {
    expect((await answered("loglevel", "error", "access")).items[0].levels).toContain("access error");
    expect(await lastOf("log.set_level")).toMatchObject({ operator: account });
    expect(await cli("loglevel", "info", "nothing", "--json")).toMatchObject({
      code: 1,
      err: expect.stringContaining('"message":"Module not found"'),
    });
    expect((await answered("loglevel", "info", "*")).items[0].levels).not.toContain("access");
    const { id } = await makePatient(service, clinic.token, "Ada Cached");
    expect(await answered("cache warmup", String(id), "2147483647")).toEqual({ warmed: 1, skipped: 1 });
    expect(await answered("cache invalidate", "--patient", String(id))).toEqual({ invalidated: 1 });
    expect(await answered("cache invalidate", "--all")).toEqual({ invalidated: 0 });
    expect(await cli("cache invalidate")).toMatchObject({ code: 2, err: expect.stringContaining("--all") });
    expect(await answered("cache cleanup")).toMatchObject({ removed: 0 });
    const begun = await answered("rotation start", "--detach");
    expect(begun).toMatchObject({ key_version: 2, status: expect.any(String) });
    expect((await answered("rotation wait")).rotation).toMatchObject({ key_version: 2, status: "finished" });
    expect(await lastOf("encryption.rotate")).toMatchObject({ operator: account });
    expect(await cli("keys destroy", "1")).toMatchObject({ code: 2 });
    expect(await cli("keys destroy", "2147483647", "--yes")).toEqual({
      code: 1,
      out: "",
      err: "404 not_found: Key not found\n",
    });
  });

  it("fixes: seeded, confirmed, deleted", async () => {
    await service.provokes("user_counts_differ");
    expect((await answered("fixes seed")).total).toBeGreaterThan(20);
    const looked = await answered("look");
    expect(looked.looked).toBeGreaterThan(20);
    expect(await answered("confirm", "user_counts_differ")).toMatchObject({ status: "confirmed" });
    expect(await lastOf("fix.confirm")).toMatchObject({ operator: account });
    expect(await cli("fixes delete", "user_counts_differ")).toMatchObject({ code: 2 });
    expect(await answered("fixes delete", "user_counts_differ", "--yes")).toEqual({ deleted: true });
    expect(await cli("confirm", "user_counts_differ")).toEqual({
      code: 1,
      out: "",
      err: "user_counts_differ was not met yet: `fixes seed` proposes every fix.\n",
    });
  });

  it("any action by its name is held to the same", async () => {
    const { id } = await makeUser(service, superadmin, { tenant_id: clinic.id, role: "nurse" });
    const list = await answered("call", "users.list", "--tenant_id", String(clinic.id), "--limit", "1");
    expect(list.items).toHaveLength(1);
    const help = await cli("call", "users.set_role", "--help");
    expect(help).toMatchObject({ code: 0, out: expect.stringMatching(/^--role +superadmin \| admin/m) });
    expect(await cli("call", "users.remove", "--user_id", String(id))).toMatchObject({ code: 2, out: "" });
    expect((await cli("call", "users.remove", "--user_id", String(id), "--yes")).code).toBe(0);
    expect(await lastOf("user.delete")).toEqual({ target_id: String(id), operator: account });
    expect(await cli("call", "users.list", "--tenant_id", "x", "--json")).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringContaining('"failures":[{"loc":["query","tenant_id"]'),
    });
    expect(await cli("call", "users.nothing")).toEqual({
      code: 3,
      out: "",
      err: "No process offers users.nothing.\n",
    });
  });
});

describe("as a program of its own", () => {
  it("changes, destroys with --yes alone, and answers JSON and nothing else", async () => {
    const { id } = await makeUser(service, superadmin, { tenant_id: clinic.id, role: "nurse" });
    const blocked = await runCli(env, "block", String(id), "--json", "--as=ada");
    expect([blocked.code, blocked.err]).toEqual([0, ""]);
    expect(JSON.parse(blocked.out)).toMatchObject({ id, is_active: false });
    expect(await lastOf("user.block")).toEqual({ target_id: String(id), operator: "ada" });
    const refused = await runCli(env, "users", "delete", String(id), "--json");
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(JSON.parse(refused.err).error).toMatchObject({
      code: "misused",
      message: expect.stringContaining("--yes"),
    });
    const done = await runCli(env, "users", "delete", String(id), "--yes", "--json");
    expect([done.code, JSON.parse(done.out), done.err]).toEqual([0, { deleted: true }, ""]);
    const gone = await runCli(env, "unlock", String(id), "--json");
    expect([gone.code, gone.out]).toEqual([1, ""]);
    expect(JSON.parse(gone.err)).toEqual({
      error: { code: "not_found", status: 404, message: "User not found" },
    });
  });
});

describe("what is refused", () => {
  it.each([
    [[], /^Name a command:\n/],
    [["nonsense"], /^There is no command nonsense/],
    [["block"], /^block: user: Field required/],
    [["block", "x", "--json"], /^\{"error":\{"code":"misused","status":null,"message":"block: user: /],
    [["health", "--alone"], /^health is of a running service/],
    [["block", "5", "--as", "a b"], /^--as takes a name/],
  ])("%j: 2, and one sentence on standard error", async (args, sentence) => {
    const { code, out, err } = await runCli(env, ...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(sentence);
  });

  it("a setting that is none: 2", async () => {
    const ended = await runCli({ ...env, ACT_AS: "a b" }, "health");
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringMatching(/^ACT_AS must be /) });
  });

  it("who has no name may look, and change nothing", async () => {
    const nobody = { ...joined, operator: undefined };
    const said: string[] = [];
    const screen = {
      out: () => {},
      err: (text: string) => void said.push(text),
      width: 100,
      stream: process.stderr,
      ask: async () => "",
      signal: new AbortController().signal,
    };
    const run = (...words: string[]) => runRequest(nobody, readRequest(words), screen);
    expect(await run("users")).toBe(0);
    expect(await run("loglevel")).toBe(0);
    expect(await run("call", "users.list")).toBe(0);
    expect(said).toEqual([]);
    for (const words of [
      "block 2",
      "loglevel debug",
      "call users.block --user_id 2",
      "tenants delete 2 --yes",
    ])
      expect(await run(...words.split(" "))).toBe(2);
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toMatch(/^Changes are audited under a name.*--as <name>/);
    expect(
      (await service.call("GET", "/api/users/me", { token: await service.signIn("admin") })).status,
    ).toBe(200);
  });

  it("where no service runs: 3", async () => {
    const empty = join(service.database.folder, "nothing");
    const plain = await runCli({ DATA_DIR: empty }, "health");
    const sentence = `No service is running on ${empty}: start it with \`npm start\`, or name its DATA_DIR.`;
    expect(plain).toEqual({ code: 3, out: "", err: `${sentence}\n` });
    const json = await runCli({ DATA_DIR: empty }, "health", "--json");
    expect([json.code, json.out]).toEqual([3, ""]);
    expect(JSON.parse(json.err)).toEqual({ error: { code: "unreached", status: null, message: sentence } });
  });

  it("ACT_AS names who it is, and --as goes before it", async () => {
    const { id } = await makeUser(service, superadmin, { tenant_id: clinic.id, role: "nurse" });
    const named = { ...env, ACT_AS: "night.watch" };
    expect((await runCli(named, "block", String(id))).code).toBe(0);
    expect(await lastOf("user.block")).toMatchObject({ operator: "night.watch" });
    expect((await runCli(named, "unlock", String(id), "--as", "ada")).code).toBe(0);
    expect(await lastOf("user.unblock")).toMatchObject({ operator: "ada" });
  });
});

it("help names every command, and exit codes", async () => {
  const { code, out } = await runCli(env, "help");
  expect(code).toBe(0);
  for (const { name } of commands) expect(out).toContain(`  ${name} `);
  expect(out).toMatch(/^ {2}130 +left alone/m);
  expect((await runCli(env, "help", "backup", "restore")).out).toContain("Use: backup restore <backup>");
});

it("every command of the table was run here, but those on backups, which have their own test", () => {
  const names = commands.map(({ name }) => name).filter((name) => !name.startsWith("backup "));
  expect(names.filter((name) => !ran.has(name))).toEqual([]);
});
