// What the clock begins, and what is taken away by and by.
import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { mailsTo, mailTo } from "../../support/mailbox.ts";
import { backUp, begin, type Clinic, ended, makePatient, openClinic } from "./scene.ts";

let service: TestService;
let superadmin: string;
let clinic: Clinic;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await openClinic(service, superadmin);
  await makePatient(service, clinic.token, "Somebody");
});
afterAll(() => service?.stop());

const owner = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;

/** As the clock does, and waits until it was done. */
async function run(task: string): Promise<void> {
  const [job] = await owner("select (graphile_worker.add_job($1)).id", [task]);
  await eventually(
    async () =>
      (await owner("select from graphile_worker._private_jobs where id = $1", [job.id])).length === 0,
  );
}
const allEnded = () =>
  eventually(async () => {
    const [{ open }] = await owner(
      "select count(*)::integer as open from backup_jobs where finished_at is null",
    );
    return open === 0;
  });

describe("by night", () => {
  it("everything and every tenant is backed up, and a second clock of the same night adds nothing", async () => {
    await Promise.all([run("backups.nightly"), run("backups.nightly")]);
    await allEnded();
    const nightly = await owner(
      "select tenant_id, status from backup_jobs where reason = 'nightly' order by tenant_id nulls first",
    );
    const tenants = await owner("select id from tenants where deleted_at is null order by id");
    expect(nightly).toEqual(
      [null, ...tenants.map(({ id }) => id)].map((tenant_id) => ({ tenant_id, status: "succeeded" })),
    );
  });

  it("weekly the newest is laid out, read out and compared, and health says so", async () => {
    await run("backups.prove");
    await allEnded();
    const [tested] = await owner("select type, test_passed from backups where tested_at is not null");
    expect(tested).toEqual({ type: "full", test_passed: true });
    const [{ left }] = await owner(
      "select (select count(*) from staging.patients)::integer + (select count(*) from staging.users)::integer as left",
    );
    expect(left).toBe(0);
    const health = await service.call("GET", "/api/admin/health", { token: superadmin });
    expect(health.body).toMatchObject({ checks: { object_store: "ok" } });
    expect(health.body.backups_count).toBeGreaterThan(1);
    expect(Date.parse(health.body.last_backup_at)).toBeGreaterThan(0);
    expect(Date.parse(health.body.last_verified_restore_at)).toBeGreaterThan(0);
  });

  it("a backup that could not be proved is told, and health goes on with the proof before it", async () => {
    const proof = async () =>
      (await service.call("GET", "/api/admin/health", { token: superadmin })).body.last_verified_restore_at;
    const before = await proof();
    const [{ id }] = await owner(
      "select id from backups where type = 'full' order by created_at desc, id limit 1",
    );
    const path = join(service.settings["DATA_DIR"] ?? "", "backups/backups", id, "data");
    const whole = await readFile(path);
    const other = Buffer.from(whole);
    other[whole.length >> 1] = (other[whole.length >> 1] ?? 0) ^ 1;
    await writeFile(path, other);
    await run("backups.prove");
    await allEnded();
    await writeFile(path, whole);
    const [tested] = await owner("select test_passed from backups where id = $1", [id]);
    expect(tested).toEqual({ test_passed: false });
    const mail = await mailTo(service, "admin@platform.example", /could not be proved/);
    expect(mail.text).toContain("archive_damaged");
    // What was proved last week was proved.
    expect([before, null]).toContain(await proof());
    await run("backups.prove");
    await allEnded();
    expect(Date.parse(await proof())).toBeGreaterThan(Date.parse(before));
  });

  it("a backup of the night that failed is told to the superadmins with its reason", async () => {
    const [job] = await owner(
      `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason)
       values (gen_random_uuid(), 'backup', 'tenant', 2000000000, $1, 'nightly') returning id`,
      [`bk_${"d".repeat(32)}`],
    );
    await owner(
      "select graphile_worker.add_job('backups.run', payload := json_build_object('job_id', $1::text))",
      [job.id],
    );
    const mail = await mailTo(service, "admin@platform.example", /nightly backup failed/);
    expect(mail.text).toContain("tenant_gone");
  });

  it("a night that was missed is told to the superadmins, once", async () => {
    await owner("update backups set created_at = created_at - interval '27 hours'");
    await run("backups.watch");
    await run("backups.watch");
    await mailTo(service, "admin@platform.example", /no full backup/);
    const told = await mailsTo(service, "admin@platform.example");
    expect(told.filter(({ subject }) => subject?.includes("no full backup"))).toHaveLength(1);
    expect(await owner("select outcome from audit_entries where action = 'backup.missing'")).toEqual([
      { outcome: "error" },
    ]);
  });
});

describe("the sweep", () => {
  it("ends what the retention does not keep, and nothing that a person made", async () => {
    // Two of one day: of those that the night makes, one would go.
    const mine = [await backUp(service, clinic.token), await backUp(service, clinic.token)];
    for (const [hour, { backup_id: id }] of mine.entries())
      await owner(
        `update backups set created_at = date_trunc('day', now()) - interval '3 years' + make_interval(hours => $2)
         where id = $1`,
        [id, hour],
      );
    const [old] = await owner(
      "select id from backups where tenant_id = $1 and reason = 'nightly' order by created_at limit 1",
      [clinic.id],
    );
    await owner("update backups set created_at = created_at - interval '1 hour' where id = $1", [old.id]);
    await run("backups.nightly");
    await owner("update backup_jobs set created_at = created_at - interval '1 hour'");
    await run("backups.nightly");
    await allEnded();
    await run("backups.sweep");
    await eventually(async () => (await owner("select from backups where state = 'removing'")).length === 0);
    const left = await owner("select id, reason from backups where tenant_id = $1", [clinic.id]);
    for (const { backup_id: id } of mine) expect(left).toContainEqual({ id, reason: "manual" });
    const perDay = await owner(
      `select created_at::date, count(*)::integer as made from backups where tenant_id = $1 and reason = 'nightly'
       group by 1 having count(*) > 1`,
      [clinic.id],
    );
    expect(perDay).toEqual([]);
  });

  it("removes an archive without a manifest and leftovers of writers, and never one with a manifest", async () => {
    const store = join(service.settings.DATA_DIR ?? "", "backups");
    const long = new Date(Date.now() - 2 * 3_600_000);
    const put = async (path: string) => {
      await mkdir(join(store, path, ".."), { recursive: true });
      await writeFile(join(store, path), "x");
      await utimes(join(store, path), long, long);
    };
    const [orphan, unknown] = [`bk_${"1".repeat(32)}`, `bk_${"2".repeat(32)}`];
    await put(`backups/${orphan}/data`);
    await put(`backups/${unknown}/data`);
    await put(`backups/${unknown}/manifest`);
    await put(".unfinished/left");
    await owner("insert into staging.users (staged_for, id) values (gen_random_uuid(), 1)");
    await run("backups.sweep");
    expect(await readdir(join(store, "backups", orphan))).toEqual([]);
    expect((await readdir(join(store, "backups", unknown))).sort()).toEqual(["data", "manifest"]);
    expect(await readdir(join(store, ".unfinished"))).toEqual([]);
    expect(await owner("select from staging.users")).toEqual([]);
  });
});

describe("a job whose worker died", () => {
  it("is taken up, from the beginning, under the same id", async () => {
    const id = `bk_${"a".repeat(32)}`;
    const [job] = await owner(
      `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason, status, tries, leased_by, leased_until, started_at)
       values (gen_random_uuid(), 'backup', 'tenant', $1, $2, 'manual', 'running', 1, gen_random_uuid(),
         now() - interval '1 second', now()) returning id`,
      [clinic.id, id],
    );
    await owner(
      "select graphile_worker.add_job('backups.run', payload := json_build_object('job_id', $1::text))",
      [job.id],
    );
    expect(await ended(service, clinic.token, job.id)).toMatchObject({ status: "succeeded", backup_id: id });
  });

  it("is not taken from a worker that lives", async () => {
    const [job] = await owner(
      `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason, status, tries, leased_by, leased_until, started_at)
       values (gen_random_uuid(), 'backup', 'tenant', $1, $2, 'manual', 'running', 1, gen_random_uuid(),
         now() + interval '1 hour', now()) returning id`,
      [clinic.id, `bk_${"b".repeat(32)}`],
    );
    await owner(
      "select graphile_worker.add_job('backups.run', payload := json_build_object('job_id', $1::text))",
      [job.id],
    );
    await eventually(
      async () =>
        (
          await owner(
            "select from graphile_worker._private_jobs where attempts > 0 and locked_at is null and last_error is not null",
          )
        ).length > 0,
    );
    const [still] = await owner("select status, tries from backup_jobs where id = $1", [job.id]);
    expect(still).toEqual({ status: "running", tries: 1 });
    const refused = await service.call("POST", "/api/admin/backup/create", { token: clinic.token, body: {} });
    expect(refused.status).toBe(409);
    await owner("delete from backup_jobs where id = $1", [job.id]);
  });

  it("ends as failed when its workers die again and again", async () => {
    const [job] = await owner(
      `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason, status, tries, leased_by, leased_until, started_at)
       values (gen_random_uuid(), 'backup', 'tenant', $1, $2, 'manual', 'running', 4, gen_random_uuid(),
         now() - interval '1 second', now()) returning id`,
      [clinic.id, `bk_${"c".repeat(32)}`],
    );
    await owner(
      "select graphile_worker.add_job('backups.run', payload := json_build_object('job_id', $1::text))",
      [job.id],
    );
    expect(await ended(service, clinic.token, job.id)).toMatchObject({
      status: "failed",
      error_code: "worker_lost",
    });
    const begun = await begin(service, clinic.token);
    expect((await ended(service, clinic.token, begun.job_id)).status).toBe("succeeded");
  });
});
