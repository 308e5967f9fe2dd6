// Disks that are full beneath a backup or a restore: the folder's, and PostgreSQL's own. On disks of a few megabytes, which only
// root can make.
import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, statfsSync as statsOf, statSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  backUp,
  begin,
  type Clinic,
  ended,
  openClinic,
  restore,
  tableSums,
} from "../../api/backups/scene.ts";
import { startService, type TestService } from "../../support/service.ts";

const mebibyte = 1_048_576;
const mounted: string[] = [];

/** @returns undefined where this account may not mount */
function smallDisk(megabytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "records-small-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  mounted.push(folder);
  return folder;
}

const [storeDisk, databaseDisk] = [smallDisk(32), smallDisk(8)];
const ofRoot = storeDisk === undefined || databaseDisk === undefined ? describe.skip : describe;

ofRoot("a full disk", () => {
  let service: TestService;
  let superadmin: string;
  beforeAll(async () => {
    service = await startService({ DATA_DIR: storeDisk ?? "" });
    superadmin = await service.signIn("superadmin");
  }, 90_000);
  afterAll(async () => {
    await service?.stop();
    for (const folder of mounted) {
      execFileSync("umount", ["--lazy", folder]);
      await rm(folder, { recursive: true });
    }
  }, 60_000);

  const rows = async (text: string, values: unknown[] = []) =>
    (await service.database.owner.query(text, values)).rows;

  /** With records that do not compress: what is in them is never opened here. */
  async function largeClinic(): Promise<Clinic> {
    const clinic = await openClinic(service, superadmin);
    const body = { record_number: "R-1", full_name: "Some Body" };
    const patient = await service.call("POST", "/api/patients", { token: clinic.token, body });
    const written = { kind: "note", body: "x" };
    await service.call("POST", `/api/patients/${patient.body.id}/records`, {
      token: clinic.token,
      body: written,
    });
    // Under the same key: its id is in the first bytes.
    await rows(
      `insert into patient_records (id, tenant_id, patient_id, kind, body)
       select nextval('patient_records_id_seq'), r.tenant_id, r.patient_id, r.kind, substring(r.body from 1 for 5)
         || (select string_agg(decode(md5(n || '-' || part), 'hex'), '') from generate_series(1, 64) part)
       from patient_records r, generate_series(1, 10000) n where r.tenant_id = $1`,
      [clinic.id],
    );
    return clinic;
  }

  it("beneath the folder of the backups: nothing is listed or left, and a restore changes nothing", async () => {
    const { token, id } = await largeClinic();
    const made = await backUp(service, token);
    const filler = join(storeDisk ?? "", "filler");
    const { bavail, bsize } = statsOf(storeDisk ?? "");
    await writeFile(filler, Buffer.alloc(bavail * bsize - 2 * mebibyte));
    const before = await tableSums(service.database.owner, `tenant_id = ${id}`);
    const begun = await begin(service, token);
    expect(await ended(service, token, begun.job_id)).toMatchObject({
      status: "failed",
      error_code: "store_full",
    });
    expect(await restore(service, token, made.backup_id)).toMatchObject({
      status: "failed",
      error_code: "store_full",
    });
    expect(await tableSums(service.database.owner, `tenant_id = ${id}`)).toEqual(before);
    expect(await rows("select id from backups where tenant_id = $1", [id])).toEqual([{ id: made.backup_id }]);
    expect(await readdir(join(storeDisk ?? "", "backups/.unfinished"))).toEqual([]);
    expect((await service.call("GET", "/api/patients", { token })).status).toBe(200);
    await rm(filler);
    await service.call("DELETE", `/api/admin/backup/${made.backup_id}`, { token });
    expect(await backUp(service, token)).toMatchObject({ type: "tenant" });
  }, 120_000);

  it("beneath PostgreSQL while an archive is laid out: the job says so, and nothing is changed", async () => {
    const { token, id } = await largeClinic();
    const made = await backUp(service, token);
    const { uid, gid } = statSync(join(service.database.folder, "postgres"));
    chownSync(databaseDisk ?? "", uid, gid);
    await rows(`create tablespace small location '${databaseDisk}'`);
    await rows("alter table staging.patient_records set tablespace small");
    const before = await tableSums(service.database.owner, `tenant_id = ${id}`);
    expect(await restore(service, token, made.backup_id)).toMatchObject({
      status: "failed",
      error_code: "postgres_full",
      error: "PostgreSQL has no room left; nothing was changed.",
    });
    expect(await tableSums(service.database.owner, `tenant_id = ${id}`)).toEqual(before);
    expect(await rows("select from staging.patient_records")).toEqual([]);
    expect(await rows("select from tenant_freezes")).toEqual([]);
    await rows("alter table staging.patient_records set tablespace pg_default");
    await rows("drop tablespace small");
    expect(await restore(service, token, made.backup_id)).toMatchObject({ status: "succeeded" });
  }, 120_000);
});
