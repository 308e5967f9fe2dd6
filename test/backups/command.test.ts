// Backups from the command line, as an operator or a CronJob makes them: exit codes, JSON, and whose name is in the log.
import { userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { runProcess, startService, type TestService } from "../support/service.ts";
import { type Clinic, makePatient, openClinic } from "./scene.ts";

let service: TestService;
let clinic: Clinic;
beforeAll(async () => {
  service = await startService();
  clinic = await openClinic(service, await service.signIn("superadmin"));
}, 90_000);
afterAll(() => service?.stop());

async function command(...args: string[]): Promise<{ code: number | null; said: string }> {
  const running = runProcess(service.settings, "services/backup.ts", args);
  return { code: await running.exited, said: running.output().trim() };
}

describe("npm run backup", () => {
  it("makes, lists, plans, restores and deletes beside the running service, under the operator's name", async () => {
    const made = await command("create", "--tenant", String(clinic.id), "--json");
    expect(made.code).toBe(0);
    const job = JSON.parse(made.said);
    expect(job).toMatchObject({ kind: "backup", type: "tenant", status: "succeeded" });
    const patient = await makePatient(service, clinic.token, "Added Since");
    const listed = await command("list");
    expect(listed).toMatchObject({ code: 0, said: expect.stringContaining(job.backup_id) });
    const plan = await command("plan", job.backup_id);
    expect(plan).toMatchObject({
      code: 0,
      said: expect.stringMatching(/^patients +0 added, 0 changed, 1 removed$/m),
    });
    expect(await command("restore", job.backup_id)).toMatchObject({
      code: 1,
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
    expect(await command("delete", job.backup_id)).toMatchObject({ code: 0, said: "deleted" });
    expect(await command("delete", job.backup_id)).toMatchObject({ code: 1, said: "Backup not found." });
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
  }, 120_000);

  it.each([[[]], [["what"]], [["create", "--tenant", "x"]], [["status"]], [["status", "no-job"]]])(
    "%j is refused with one sentence and 1",
    async (args) => {
      const { code, said } = await command(...args);
      expect(code).toBe(1);
      expect(said.split("\n")).toHaveLength(1);
    },
  );
});
