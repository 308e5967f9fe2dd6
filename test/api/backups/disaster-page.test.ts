// The commands of docs/disaster.md, typed as they stand there.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  addressOf,
  callApi,
  demoPassword,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";
import { backUp, makePatient, openClinic } from "./scene.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service?.stop();
});

/** What stands in the shell blocks of a page. */
async function commandsOf(page: string): Promise<string[]> {
  const text = await readFile(join(root, page), "utf8");
  return [...text.matchAll(/^( *)```sh\n([\s\S]*?)^ *```/gm)].map(([, indent = "", body = ""]) =>
    body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
}

/** @param env beside the path alone */
async function typed(commands: string, cwd: string, env: Record<string, string> = {}): Promise<string> {
  const path = `${join(root, "node_modules/.bin")}:${process.env["PATH"]}`;
  const { HOME = "" } = process.env;
  const { stdout } = await run("bash", ["-e", "-c", commands], { cwd, env: { PATH: path, HOME, ...env } });
  return stdout;
}

describe("the page for the night when the database is lost", () => {
  it("brings everything back by its own commands", async () => {
    const superadmin = await service.signIn("superadmin");
    const clinic = await openClinic(service, superadmin);
    const patient = await makePatient(service, clinic.token, "Before The Fire");
    const full = await backUp(service, superadmin);
    const late = await makePatient(service, clinic.token, "After The Full One");
    const younger = await backUp(service, clinic.token);
    await service.database.owner.query("create database lost");
    const { DATA_DIR = "", BOOT_SECRET = "" } = service.settings;
    const env = { DATABASE_URL: service.database.postgres.url("lost"), BOOT_SECRET, DATA_DIR };
    const commands = await commandsOf("docs/disaster.md");
    expect(commands).toEqual([
      "npm run restore -- list\n",
      "npm run restore -- bk_0123456789abcdef0123456789abcdef\n",
    ]);
    expect(await typed(commands[0] ?? "", root, env)).toContain(full.backup_id);
    const brought = (commands[1] ?? "").replace(/bk_\w+/, full.backup_id);
    expect(await typed(brought, root, env)).toMatch(/rows of \S+ are back/);
    // Step 6, in the running text.
    const page = await readFile(join(root, "docs/disaster.md"), "utf8");
    const [plan = "", restore = ""] = [...page.matchAll(/`(npm run backup -- [^`]+)`/g)].map(
      ([, each = ""]) => each.replace("<backup_id>", younger.backup_id),
    );
    const running = runProcess({ ...service.settings, ...env });
    try {
      const url = await addressOf(running);
      expect(await typed(plan, root, env)).toMatch(/^patients +1 +0 +0$/m);
      expect(await typed(restore, root, env)).toContain("succeeded");
      const body = { email: clinic.admin.email, password: demoPassword, subdomain: clinic.subdomain };
      const token = (await callApi(url, "POST", "/api/auth/login", { body })).body.access_token;
      for (const { id, full_name: name } of [patient, late])
        expect((await callApi(url, "GET", `/api/patients/${id}`, { token })).body.full_name).toBe(name);
    } finally {
      await running.stop();
    }
  });
});
