// Backups from the command line, as an operator or a CronJob makes them: exit codes, JSON, and whose name is in the log.
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { runCli } from "../../support/cli.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { type Clinic, makePatient, openClinic } from "./scene.ts";

let service: TestService;
let clinic: Clinic;
beforeAll(async () => {
  service = await startService();
  clinic = await openClinic(service, await service.signIn("superadmin"));
});
afterAll(() => service?.stop());

/** Beside the running service, unless it is told to do it alone: then it needs the service's settings. */
async function command(...args: string[]): Promise<{ code: number | null; said: string }> {
  const { DATA_DIR = "" } = service.settings;
  const env = args.includes("--alone")
    ? { ...service.settings, DATA_DIR: `${DATA_DIR}-alone` }
    : { DATA_DIR };
  const { code, out, err } = await runCli(env, "backup", ...args);
  return { code, said: `${out}${err}`.trim() };
}

/** The one JSON document on standard output; on standard error there is nothing. */
// biome-ignore lint/suspicious/noExplicitAny: answers have every shape
async function document(...args: string[]): Promise<any> {
  const { DATA_DIR = "" } = service.settings;
  const { out, err } = await runCli({ DATA_DIR }, "backup", ...args, "--json");
  expect(err).toBe("");
  return JSON.parse(out);
}

describe("npm run backup", () => {
  it("makes, lists, plans, restores and deletes beside the running service, under the operator's name", async () => {
    const job = await document("create", "--tenant", String(clinic.id));
    expect(job).toMatchObject({ kind: "backup", type: "tenant", status: "succeeded" });
    const patient = await makePatient(service, clinic.token, "Added Since");
    const listed = await command("list");
    expect(listed).toMatchObject({ code: 0, said: expect.stringContaining(job.backup_id) });
    const plan = await command("plan", job.backup_id);
    expect(plan).toMatchObject({
      code: 0,
      said: expect.stringMatching(/^patients +0 +0 +1$/m),
    });
    expect(await command("restore", job.backup_id)).toMatchObject({
      code: 2,
      said: expect.stringContaining("--yes"),
    });
    expect((await service.call("GET", `/api/patients/${patient.id}`, { token: clinic.token })).status).toBe(
      200,
    );
    expect(await command("restore", job.backup_id, "--yes")).toMatchObject({
      code: 0,
      said: expect.stringContaining("succeeded"),
    });
    expect((await service.call("GET", `/api/patients/${patient.id}`, { token: clinic.token })).status).toBe(
      404,
    );
    expect(await command("status", job.job_id)).toMatchObject({ code: 0 });
    expect(await command("wait", job.job_id)).toMatchObject({ code: 0 });
    expect(await command("delete", job.backup_id)).toMatchObject({ code: 2 });
    expect(await command("delete", job.backup_id, "--yes")).toMatchObject({ code: 0, said: "deleted  true" });
    expect(await command("delete", job.backup_id, "--yes")).toMatchObject({
      code: 1,
      said: "404 not_found: Backup not found",
    });
    const audit = await service.call("GET", "/api/admin/audit?action=backup.*&limit=50", {
      token: clinic.token,
    });
    const wishes = audit.body.items.filter(({ action }: { action: string }) =>
      ["backup.create", "backup.restore", "backup.delete"].includes(action),
    );
    expect(wishes.map(({ changes }: { changes: { operator: string } }) => changes.operator)).toEqual([
      userInfo().username,
      userInfo().username,
      userInfo().username,
    ]);
  });

  it("tells programs everything as JSON, and a job that failed by its exit code", async () => {
    const made = await document("create", "--tenant", String(clinic.id));
    const list = await document("list");
    expect(list.items.map((each: { backup_id: string }) => each.backup_id)).toContain(made.backup_id);
    const status = await document("status", made.job_id);
    expect(status).toMatchObject({ job_id: made.job_id, status: "succeeded" });
    const plan = await document("plan", made.backup_id);
    expect(plan).toMatchObject({ total: plan.items.length, items: expect.any(Array) });
    await rm(join(service.settings["DATA_DIR"] ?? "", "backups/backups", made.backup_id, "data"));
    const failed = await command("restore", made.backup_id, "--yes", "--json");
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.said)).toMatchObject({ status: "failed", error_code: "archive_missing" });
    expect(await command("status", made.job_id)).toMatchObject({
      code: 0,
      said: expect.stringContaining("succeeded"),
    });
    expect(await document("delete", made.backup_id, "--yes")).toEqual({ deleted: true });
  });

  it("waits only where it is wished: the job goes on, and is found again", async () => {
    const begun = await document("create", "--tenant", String(clinic.id), "--detach");
    expect(begun).toMatchObject({ type: "tenant", job_id: expect.any(String) });
    const ended = await document("wait", begun.job_id);
    expect(ended).toMatchObject({ status: "succeeded", backup_id: begun.backup_id });
  });

  it("works without a running service where it is told to, under the operator's name", async () => {
    const made = await command("create", "--tenant", String(clinic.id), "--alone", "--as", "night", "--json");
    expect(made.code).toBe(0);
    const job = JSON.parse(made.said);
    expect(job).toMatchObject({ status: "succeeded" });
    const text =
      "select changes ->> 'operator' as operator from audit_entries where action = 'backup.create' and target_id = $1";
    const { rows } = await service.database.owner.query(text, [job.backup_id]);
    expect(rows).toEqual([{ operator: "night" }]);
  });

  it.each<[string[], number]>([
    [[], 2],
    [["what"], 2],
    [["create", "--tenant", "x"], 2],
    [["status"], 2],
    [["status", "no-job"], 1],
  ])("%j is refused with one sentence and %d", async (args, exit) => {
    const { code, said } = await command(...args);
    expect(code).toBe(exit);
    expect(said.split("\n")).toHaveLength(1);
  });
});

describe("the operators' shell", () => {
  it("makes, lists, plans, restores and deletes by the same words, under the operator's name", async () => {
    const { PATH = "", HOME = "" } = process.env;
    const shell = spawn(process.execPath, ["operators/repl.ts"], {
      cwd: join(import.meta.dirname, "../../.."),
      env: { PATH, HOME, ...service.settings, LOG_LEVEL: "error" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    let said = "";
    shell.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    shell.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const ended = new Promise<void>((resolve) => shell.once("close", () => resolve()));
    /** @returns what it says until it matches */
    const type = async (line: string, answer: RegExp): Promise<RegExpExecArray> => {
      const from = said.length;
      shell.stdin.write(`${line}\n`);
      return eventually(async () => answer.exec(said.slice(from)) ?? undefined);
    };
    try {
      await eventually(async () => /records \$/.test(said));
      const [, id = ""] = await type(
        `backup create --tenant ${clinic.id}`,
        /backup_id +(bk_[0-9a-f]{32})[^]*status +succeeded/,
      );
      const patient = await makePatient(service, clinic.token, "Added Since");
      await type("backup list", new RegExp(`${id} .* tenant +${clinic.id} `));
      await type(`backup plan ${id}`, /patients +0 +0 +1/);
      await type(`backup restore ${id}`, /destroys something: say --yes/);
      const [, job = ""] = await type(
        `backup restore ${id} --yes --json`,
        /"job_id": "([0-9a-f-]{36})"[^]*succeeded/,
      );
      await type(`backup status ${job}`, /kind +restore[^]*status +succeeded/);
      const path = `/api/patients/${patient.id}`;
      expect((await service.call("GET", path, { token: clinic.token })).status).toBe(404);
      await type(`backup delete ${id} --yes`, /deleted +true/);
      await type(`backup plan ${id}`, /Backup not found/);
    } finally {
      shell.kill();
      await ended;
    }
    const text = `select action, changes ->> 'operator' as operator from audit_entries
      where tenant_id = $1 and action in ('backup.create', 'backup.restore', 'backup.delete') order by id desc limit 3`;
    const { rows } = await service.database.owner.query(text, [clinic.id]);
    expect(rows).toEqual(
      ["backup.delete", "backup.restore", "backup.create"].map((action) => ({
        action,
        operator: userInfo().username,
      })),
    );
  });
});
