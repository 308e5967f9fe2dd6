// `node test/api/backups/archives/make.ts`: keeps an archive of today's version as test data, so that every later version is shown
// to restore it. To be run, and its folder committed, when the format or the tables of archives change: a test says when.
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { migrations } from "../../../../migrations/all.ts";
import { startService } from "../../../support/service.ts";
import { backUp, makePatient, openClinic } from "../scene.ts";
import type { Holds } from "./kept.ts";

const schema = migrations.at(-1)?.name ?? "";
const folder = join(import.meta.dirname, schema);

const service = await startService({ DEMO_MODE: "false", ADMIN_PASSWORD: "Open-Sesame-4711" });
try {
  const superadmin = await service.signIn("superadmin");
  const clinic = await openClinic(service, superadmin);
  const { token } = clinic;
  const patient = await makePatient(service, token, "Ada of Another Age", "KEPT-1", {
    birth_date: "1990-12-10",
  });
  const record = { kind: "visit", body: "Felt better then." };
  await service.call("POST", `/api/patients/${patient.id}/records`, { token, body: record });
  await service.call("PUT", "/api/preferences", { token, body: { theme: "dark", settings: { rows: 20 } } });
  const hook = { url: "https://example.com/hook", events: ["payment.failed"] };
  await service.call("POST", "/api/webhooks/register", { token, body: hook });
  const tenant = await backUp(service, token);
  const full = await backUp(service, superadmin);
  const holds: Holds = {
    full: full.backup_id,
    tenant: tenant.backup_id,
    subdomain: clinic.subdomain,
    email: clinic.admin.email,
    patient_id: patient.id,
    full_name: patient.full_name,
    record: record.body,
  };
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await cp(join(service.settings["DATA_DIR"] ?? "", "backups"), join(folder, "backups"), {
    recursive: true,
    filter: (path) => !path.includes(".unfinished"),
  });
  await writeFile(join(folder, "boot-secret"), service.settings["BOOT_SECRET"] ?? "");
  await writeFile(join(folder, "holds.json"), `${JSON.stringify(holds, null, 2)}\n`);
  process.stdout.write(`kept in ${folder}: commit it\n`);
} finally {
  await service.stop();
}
