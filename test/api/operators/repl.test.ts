// `npm run repl` beside the running service, in a terminal of its own.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { descendantsOf } from "../../support/descendants.ts";
import { allGone } from "../../support/processes.ts";
import { eventually, runProcess, startService, type TestService } from "../../support/service.ts";
import { describeWithTerminal, openTerminal, type Terminal } from "../../support/terminal.ts";

const root = join(import.meta.dirname, "../../..");
const ctrlD = "\u0004";

let service: TestService;
let home = "";
let dataDir = "";
beforeAll(async () => {
  service = await startService();
  dataDir = service.settings["DATA_DIR"] ?? "";
  home = join(service.database.folder, "home");
  await mkdir(home);
});
afterAll(() => service.stop());

const doors = async () => (await readdir(dataDir)).filter((name) => name.endsWith(".sock"));

async function openRepl(): Promise<Terminal> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, DATA_DIR: dataDir };
  const command = `stty cols 150; exec '${process.execPath}' operators/repl.ts`;
  const terminal = openTerminal(command, root, env);
  await terminal.shows(/records \$ /);
  return terminal;
}

it("the door is for its owner alone, and is gone with the service's end", async () => {
  const [name = ""] = await doors();
  expect((await stat(join(dataDir, name))).mode & 0o777).toBe(0o600);
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
  const other = join(service.database.folder, "other");
  const { NATS_URL: _none, ...settings } = service.settings;
  const second = runProcess({ ...settings, DATA_DIR: other });
  await second.printed(/is ready/);
  expect((await readdir(other)).filter((each) => each.endsWith(".sock"))).toHaveLength(1);
  expect(await second.stop()).toBe(0);
  expect((await readdir(other)).filter((each) => each.endsWith(".sock"))).toEqual([]);
});

it("where no service runs it says so in one sentence", async () => {
  const empty = join(service.database.folder, "empty");
  const running = runProcess({ DATA_DIR: empty }, "operators/repl.ts");
  expect(await running.exited).toBe(3);
  expect(running.output()).toBe(
    `No service is running on ${empty}: start it with \`npm start\`, or name its DATA_DIR.\n`,
  );
});

describeWithTerminal("at the prompt", () => {
  it("changes how much the logs tell, for all or one module, and has it audited", async () => {
    const terminal = await openRepl();
    terminal.type("loglevel\r");
    await terminal.shows(/main info, bus warn/);
    terminal.type("loglevel error access\r");
    await terminal.shows(/main info, .*access error/);
    const quiet = await service.call("GET", "/api/auth/tenants");
    terminal.type("loglevel debug\r");
    await terminal.shows(/main debug, bus warn/);
    const told = await service.call("GET", "/api/auth/tenants");
    const idOf = ({ headers }: { headers: Headers }) => headers.get("x-request-id") ?? "-";
    await eventually(async () => service.process.output().includes(idOf(told)));
    expect(service.process.output()).not.toContain(idOf(quiet));
    terminal.type("loglevel loud\r");
    await terminal.shows(/loglevel: level: Input should be/);
    terminal.type("loglevel info nothing\r");
    await terminal.shows(/404 not_found: Module not found/);
    terminal.type("loglevel info '*' nowhere\r");
    await terminal.shows(/404 not_found: Node not found/);
    terminal.type("loglevel info\r");
    await terminal.shows(/main info, bus warn[^]*main info, bus warn/);
    terminal.type(ctrlD);
    await terminal.exited;
    const token = await service.signIn("superadmin");
    const { body } = await service.call("GET", "/api/admin/audit?action=log.set_level", { token });
    const operator = userInfo().username;
    // What was refused is not in the log as done.
    expect(body.items.map(({ changes }: { changes: object }) => changes).reverse()).toEqual([
      { operator, level: "error", module: "access", node: "all" },
      { operator, level: "debug", module: "all", node: "all" },
      { operator, level: "info", module: "all", node: "all" },
    ]);
  });

  it("finds what was deleted and brings it back, under the name of the account", async () => {
    const superadmin = await service.signIn("superadmin");
    const { body: made } = await service.call("POST", "/api/admin/tenants", {
      token: superadmin,
      body: { name: "Gone Clinic", subdomain: "gone" },
    });
    await service.call("DELETE", `/api/admin/tenants/${made.id}`, { token: superadmin });
    // One that a killed process has left behind is no hindrance.
    await writeFile(join(dataDir, "repl-1-00000000.sock"), "");
    const terminal = await openRepl();
    terminal.type("call tenants.list_deleted\r");
    await terminal.shows(new RegExp(`${made.id} +Gone Clinic +gone +20`));
    terminal.type(`call tenants.restore --tenant_id ${made.id}\r`);
    await terminal.shows(/subdomain +gone/);
    terminal.type("call users.get_nothing --x 1\r");
    await terminal.shows(/\nNo process offers users\.get_nothing\.\r\n/);
    terminal.type("call users.create --email nobody --password secret-typed-here\r");
    await terminal.shows(/422 validation_error: Validation error; email: /);
    terminal.type("call users.set_role --help\r");
    await terminal.shows(/--role +superadmin \| admin \|/);
    // TAB completes what stands alone.
    terminal.type("call tenants.get --ten\t");
    await terminal.shows(/--tenant_id /);
    terminal.type(`${made.id}\r`);
    await terminal.shows(/is_active +true/);
    terminal.type("nodes\r");
    await terminal.shows(/node +state +host/);
    const pids = await descendantsOf(terminal.pid);
    terminal.type(ctrlD);
    expect(await terminal.exited).toBe(0);
    await allGone(pids);
    expect(await readdir(home)).toEqual([]);
    const audit = await service.call("GET", "/api/admin/audit?action=tenant.restore", { token: superadmin });
    expect(JSON.stringify(audit.body.items[0])).toContain(userInfo().username);
    const denied = await service.call("GET", "/api/admin/tenants", { token: superadmin });
    expect(denied.status).toBe(200);
  });

  it("shows how the service is, and confirms a fix under the name of the account", async () => {
    const superadmin = await service.signIn("superadmin");
    const { rows } = await service.database.owner.query(
      `update user_counts set users = users + 3 where (tenant_id, role, is_active) in
         (select tenant_id, role, is_active from user_counts limit 1) returning tenant_id`,
    );
    await service.call("POST", "/api/admin/self-healing/look", { token: superadmin });
    await service.database.owner.query(
      "select graphile_worker.add_job('users.purge', run_at := now() + interval '1 day', job_key := 'later')",
    );
    const terminal = await openRepl();
    terminal.type("health\r");
    await terminal.shows(/open_incidents +1/);
    terminal.type("fixes\r");
    await terminal.shows(/user_counts_differ +proposed +low +1 +0 +0/);
    // TAB offers codes and statuses.
    terminal.type("incidents --status o\t");
    await terminal.shows(/incidents --status open /);
    terminal.type("\r");
    await terminal.shows(new RegExp(`user_counts_differ +open +tenant:${rows[0].tenant_id} `));
    terminal.type("confirm department_head_gone\r");
    await terminal.shows(/department_head_gone was not met yet: `fixes seed` proposes every fix\./);
    terminal.type("confirm nonsense\r");
    await terminal.shows(/confirm: code: Input should be/);
    terminal.type("confirm user_c\t");
    await terminal.shows(/confirm user_counts_differ /);
    terminal.type("\r");
    await terminal.shows(/status +confirmed/);
    await eventually(async () => {
      const { body } = await service.call("GET", "/api/admin/self-healing/stats", { token: superadmin });
      return body.healed === 1;
    });
    terminal.type("incidents --code user_counts_differ --json\r");
    await terminal.shows(/"step": "healed"/);
    terminal.type("jobs --state waiting\r");
    await terminal.shows(/users\.purge +waiting +0 +20/);
    terminal.type("jobs --state none\r");
    await terminal.shows(/jobs: state: Input should be/);
    terminal.type("deliveries\r");
    await terminal.shows(/None\./);
    terminal.type(ctrlD);
    expect(await terminal.exited).toBe(0);
    const audit = await service.call("GET", "/api/admin/audit?action=fix.confirm", { token: superadmin });
    expect(JSON.stringify(audit.body.items[0])).toContain(userInfo().username);
  });

  it("the service's end ends it, and it goes on taking others after one that left", async () => {
    const first = await openRepl();
    first.type(ctrlD);
    expect(await first.exited).toBe(0);
    const second = await openRepl();
    await service.process.stop();
    await second.shows(/The service has ended\./);
    expect(await second.exited).toBe(1);
    await eventually(
      async () => !(await doors()).some((name) => name.includes(String(service.process.child.pid))),
    );
  });
});
