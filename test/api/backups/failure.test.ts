// What is left when something fails at a step that the test chooses: a process killed, a store that is full or away, a crash of
// PostgreSQL. Every fault at every step stands in test/cluster/faults; here are those that a wrong order of steps would show by.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { type FaultyProxy, startFaultyProxy } from "../../unit/mixins/store/faulty-proxy.ts";
import { describeWithS3 } from "../../support/describe-with-s3.ts";
import { type S3Server, startS3 } from "../../support/s3.ts";
import {
  addressOf,
  callApi,
  eventually,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";
import { endedSoon, type Gate, giveBack, holdLock, holdRequest } from "./gates.ts";
import { backUp, type Begun, begin, type Clinic, makePatient, openClinic, tableSums } from "./scene.ts";

const bucket = "failing";
/** What the exchange of the rows begins with. */
const tenantRow = "select from tenants where id = $1 for no key update";

describeWithS3("backups and restores that fail", () => {
  let s3: S3Server;
  let proxy: FaultyProxy;
  let service: TestService;
  let clinic: Clinic;
  let other: Clinic;
  const processes: RunningProcess[] = [];
  /** Of the process that answers now: others are killed. */
  let url: string;
  const gates: Gate[] = [];

  beforeAll(async () => {
    s3 = await startS3();
    const { endpoint, region, accessKey, secretKey } = s3.options(bucket);
    proxy = await startFaultyProxy(endpoint);
    service = await startService({
      S3_ENDPOINT: proxy.endpoint,
      S3_BUCKET: bucket,
      S3_REGION: region,
      S3_ACCESS_KEY: accessKey,
      S3_SECRET_KEY: secretKey,
    });
    url = service.url;
    const superadmin = await service.signIn("superadmin");
    clinic = await openClinic(service, superadmin);
    other = await openClinic(service, superadmin);
    for (let nth = 0; nth < 5; nth++) await makePatient(service, clinic.token, `Patient ${nth}`);
  });
  afterEach(async () => {
    proxy.spoil(() => "none");
    for (const gate of gates.splice(0)) await gate.open();
  });
  afterAll(async () => {
    await Promise.all(processes.map((each) => each.stop()));
    await service?.stop();
    await proxy?.stop();
    await s3?.stop();
  });

  const call: TestService["call"] = (method, path, options) => callApi(url, method, path, options);
  const api = { call };
  const owner = () => service.database.owner;
  const rows = async (text: string, values: unknown[] = []) => (await owner().query(text, values)).rows;
  const lock = async (statement: string, values: unknown[] = []) => {
    const gate = await holdLock(service.database.url, statement, values);
    gates.push(gate);
    return gate;
  };
  const request = (line: RegExp, nth = 1) => {
    const gate = holdRequest(proxy, line, nth);
    gates.push(gate);
    return gate;
  };

  /** SIGKILL to the process that works, and another one in its place. */
  async function killAndReplace(): Promise<void> {
    const killed = processes.at(-1) ?? service.process;
    killed.child.kill("SIGKILL");
    await killed.exited;
    const next = runProcess(service.settings);
    processes.push(next);
    url = await addressOf(next);
  }

  async function beginRestore(backupId: string): Promise<{ jobId: string; safetyId: string }> {
    const body = { backup_id: backupId, confirm: true };
    const answer = await call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
    expect(answer.status).toBe(200);
    const [job] = await rows("select safety_backup_id from backup_jobs where id = $1", [answer.body.job_id]);
    return { jobId: answer.body.job_id, safetyId: job.safety_backup_id };
  }

  const listed = async (): Promise<string[]> =>
    (await call("GET", "/api/admin/backup/list", { token: clinic.token })).body.items.map(
      (each: { backup_id: string }) => each.backup_id,
    );

  /** Its objects, as the server keeps them. */
  const objectsOf = (id: string) =>
    readdir(join(s3.folder, bucket, "backups", id)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return [];
    });

  async function assertNothingLeft(id: string): Promise<void> {
    expect(await listed()).not.toContain(id);
    await eventually(async () => (await objectsOf(id)).length === 0);
    // Or no key that was there while it was written would ever be ended.
    await eventually(
      async () => (await rows("select from archive_keys where backup_id = $1", [id])).length === 0,
    );
  }

  /** A backup and a change since, so that a restore has something to do. */
  async function changedSince(): Promise<{ made: Begun; patientId: number }> {
    const { id } = await makePatient(api, clinic.token, "Deleted Since");
    const made = await backUp(api, clinic.token);
    await call("DELETE", `/api/patients/${id}`, { token: clinic.token });
    return { made, patientId: id };
  }
  const own = () => tableSums(owner(), `tenant_id = ${clinic.id}`);
  const statusOf = async (patientId: number) =>
    (await call("GET", `/api/patients/${patientId}`, { token: clinic.token })).status;

  it.each([
    ["its archive", /^PUT .*\/data/, "store_full"],
    ["its manifest", /^PUT .*\/manifest/, "store_full"],
    ["the ring of keys", /^PUT .*\/keyring/, "store_full"],
  ])("a backup for which the store has no room at %s leaves nothing", async (_step, line, code) => {
    const gate = request(line);
    const begun = await begin(api, clinic.token);
    await gate.reached();
    expect(await listed()).not.toContain(begun.backup_id);
    gate.spoil(() => ({ status: 507 }));
    const job = await endedSoon(owner(), begun.job_id);
    expect(job).toMatchObject({ status: "failed", error_code: code, tries: 1 });
    proxy.spoil(() => "none");
    await assertNothingLeft(begun.backup_id);
  });

  it("a backup whose store goes away while it is read back is tried again, and leaves nothing when that does not help", async () => {
    const gate = request(/^GET .*\/data/);
    const begun = await begin(api, clinic.token);
    await gate.reached();
    gate.spoil(() => ({ status: 503 }));
    const waiting = await eventually(async () => {
      const status = await call("GET", `/api/admin/backup/status/${begun.job_id}`, { token: clinic.token });
      return status.body.status === "queued" && status.body.step.startsWith("waiting until") && status.body;
    });
    expect(waiting.step).toMatch(
      /^waiting until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: The store could not be reached\.$/,
    );
    const job = await endedSoon(owner(), begun.job_id);
    expect(job).toMatchObject({ status: "failed", error_code: "store_unavailable", tries: 4 });
    proxy.spoil(() => "none");
    await assertNothingLeft(begun.backup_id);
  });

  it("a backup killed between its manifest and the list is taken up by another process, and is whole", async () => {
    const gate = await lock("lock table backups in share mode");
    const begun = await begin(api, clinic.token);
    await gate.reached();
    expect((await objectsOf(begun.backup_id)).sort()).toEqual(["data", "manifest"]);
    await killAndReplace();
    await gate.open();
    expect(await listed()).not.toContain(begun.backup_id);
    await giveBack(owner(), begun.job_id);
    expect(await endedSoon(owner(), begun.job_id)).toMatchObject({ status: "succeeded", tries: 2 });
    expect((await listed()).filter((id) => id === begun.backup_id)).toHaveLength(1);
    const plan = await call("POST", "/api/admin/backup/restore", {
      token: clinic.token,
      body: { backup_id: begun.backup_id },
    });
    expect(plan.status).toBe(200);
  });

  it("the manifest of a worker that slept past its lease does not take the place of the one that was written since", async () => {
    const sleeper = processes.at(-1) ?? service.process;
    const late = request(/^PUT .*\/manifest/);
    const begun = await begin(api, clinic.token);
    await late.reached();
    sleeper.child.kill("SIGSTOP");
    const next = runProcess(service.settings);
    processes.push(next);
    url = await addressOf(next);
    await giveBack(owner(), begun.job_id);
    expect(await endedSoon(owner(), begun.job_id)).toMatchObject({ status: "succeeded", tries: 2 });
    const manifest = join(s3.folder, bucket, "backups", begun.backup_id, "manifest");
    const written = await readFile(manifest);
    const said = sleeper.output().length;
    await late.open();
    sleeper.child.kill("SIGCONT");
    await eventually(async () => /"task":"backups\.run"/.test(sleeper.output().slice(said)));
    expect((await readFile(manifest)).equals(written)).toBe(true);
    await sleeper.stop("SIGKILL");
    const body = { backup_id: begun.backup_id, confirm: true };
    const answer = await call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
    expect(await endedSoon(owner(), answer.body.job_id)).toMatchObject({ status: "succeeded" });
  });

  it("the manifest of a killed try is gone before another archive is written in its place", async () => {
    const gate = await lock("lock table backups in share mode");
    const begun = await begin(api, clinic.token);
    await gate.reached();
    await killAndReplace();
    await gate.open();
    const second = request(new RegExp(`^PUT .*/${begun.backup_id}/data`));
    await giveBack(owner(), begun.job_id);
    await second.reached();
    expect(await objectsOf(begun.backup_id)).not.toContain("manifest");
    second.spoil(() => ({ status: 507 }));
    expect(await endedSoon(owner(), begun.job_id)).toMatchObject({
      status: "failed",
      error_code: "store_full",
    });
    proxy.spoil(() => "none");
    await assertNothingLeft(begun.backup_id);
  });

  it.each([
    [
      "laying out, which finds no archive",
      (id: string, _safety: string) => new RegExp(`^GET .*/${id}/data`),
      "archive_missing",
      404,
    ],
    [
      "laying out, which may not read",
      (id: string, _safety: string) => new RegExp(`^GET .*/${id}/data`),
      "store_refused",
      403,
    ],
    [
      "safety backup",
      (_id: string, safety: string) => new RegExp(`^PUT .*/${safety}/data`),
      "store_full",
      507,
    ],
    [
      "safety manifest",
      (_id: string, safety: string) => new RegExp(`^PUT .*/${safety}/manifest`),
      "store_full",
      507,
    ],
  ] as const)(
    "a restore whose store fails at the %s changes nothing",
    async (_step, lineOf, code, status) => {
      const { made, patientId } = await changedSince();
      const before = await tableSums(owner());
      // The first request of the job's own tells that the safety backup's id is known by now.
      const first = request(new RegExp(`^GET .*/${made.backup_id}/manifest`));
      const { jobId, safetyId } = await beginRestore(made.backup_id);
      await first.reached();
      const gate = request(lineOf(made.backup_id, safetyId));
      await first.open();
      await gate.reached();
      gate.spoil(() => ({ status }));
      expect(await endedSoon(owner(), jobId)).toMatchObject({ status: "failed", error_code: code });
      proxy.spoil(() => "none");
      expect(await tableSums(owner())).toEqual(before);
      expect(await rows("select from tenant_freezes")).toEqual([]);
      expect(await rows("select from staging.patients union all select from staging.users")).toEqual([]);
      expect(await statusOf(patientId)).toBe(404);
      await assertNothingLeft(safetyId);
    },
  );

  it("a restore killed just before its commit has changed nothing, frees its tenant, and is done by another process", async () => {
    const { made, patientId } = await changedSince();
    const before = await own();
    const door = await lock(tenantRow, [clinic.id]);
    const { jobId, safetyId } = await beginRestore(made.backup_id);
    await door.reached();
    const end = await lock("select from audit_heads where tenant_id = $1 for update", [clinic.id]);
    await door.open();
    await end.reached();
    expect(await statusOf(patientId)).toBe(503);
    // Others write meanwhile, and after the kill.
    const kept = [(await makePatient(api, other.token, "Meanwhile")).id];
    await killAndReplace();
    await end.open();
    kept.push((await makePatient(api, other.token, "After the kill")).id);
    expect(await own()).toEqual(before);
    // By itself: what holds the door is a row that nobody prolongs, and a lock that ends with its connection.
    await eventually(async () => (await statusOf(patientId)) === 404);
    await makePatient(api, clinic.token, "Written between the tries");
    await giveBack(owner(), jobId);
    const job = await endedSoon(owner(), jobId);
    expect(job).toMatchObject({ status: "succeeded", tries: 2 });
    expect(await statusOf(patientId)).toBe(200);
    for (const id of kept)
      expect((await call("GET", `/api/patients/${id}`, { token: other.token })).status).toBe(200);
    // What the first try kept of the present stays whole; what was written between the tries is in another one.
    expect(job.safety_backup_id).not.toBe(safetyId);
    expect(await planOf(safetyId)).toMatchObject({ add: 0, remove: 1 });
    expect(await planOf(job.safety_backup_id ?? "")).toMatchObject({ add: 1, remove: 1 });
  });

  async function planOf(backupId: string) {
    const body = { backup_id: backupId };
    const answer = await call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
    expect(answer.status).toBe(200);
    return answer.body.plan.tables.find(({ table }: { table: string }) => table === "patients");
  }

  it("rows that were laid out and are lost in a crash of PostgreSQL are no empty archive", async () => {
    const { made, patientId } = await changedSince();
    const door = await lock(tenantRow, [clinic.id]);
    const { jobId } = await beginRestore(made.backup_id);
    await door.reached();
    // As its recovery does: the schema is unlogged.
    await owner().query(
      "truncate staging.patients, staging.users, staging.departments, staging.patient_records",
    );
    await door.open();
    expect(await endedSoon(owner(), jobId)).toMatchObject({ status: "succeeded", tries: 2 });
    expect(await planOf(made.backup_id)).toMatchObject({ add: 0, change: 0, remove: 0 });
    expect(await statusOf(patientId)).toBe(200);
    expect(await rows("select from tenant_freezes")).toEqual([]);
  });
});
