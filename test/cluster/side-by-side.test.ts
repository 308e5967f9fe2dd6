// Back and forth over a migration while requests come: this version, a later one whose migration adds (0.2.0), and one after
// it whose migration takes away (0.3.0). Processes of two versions run beside each other, are started again, upgraded and
// undone, and no request fails; the version for which too much was taken away refuses with one sentence.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { nextVersion, thisVersion, type Version } from "../support/next-version.ts";
import { addressOf, callApi, type CallOptions, eventually, type RunningProcess } from "../support/service.ts";
import { SteadyLoad, type Stretch } from "../support/steady-load.ts";
import { backUp } from "../api/backups/scene.ts";

const everything =
  "audit,auth,backups,cache,crypto,health,mail,messenger,patients,payments,self-healing,tenants,users,webhooks";
// A member may change preferences some hundred times a day.
const perSecond = 8;
/** Of what the requests touch, so that nothing that a process has planned before is as it was. */
const touched = ["tenants", "departments", "users", "preferences", "patients", "patient_records"];
const adds = {
  name: "9001-adds",
  since: "0.2.0",
  oldest: "0.1.0",
  sql: `${touched.map((table) => `alter table ${table} add column next text; alter table staging.${table} add column next text;`).join("\n")}
    alter table sessions add column next text;
    create index users_next on users (tenant_id, next);
    create table next_things (tenant_id integer not null references tenants, id integer not null, primary key (tenant_id, id));
    alter table next_things enable row level security;
    alter table next_things force row level security;
    create policy one_tenant on next_things to records_app using (tenant_id = app_tenant());
    create policy every_tenant on next_things to records_platform using (true);`,
};
const takesAway = {
  name: "9002-takes-away",
  since: "0.3.0",
  oldest: "0.2.0",
  sql: "alter table sessions drop column next",
};

let cluster: Cluster;
let owner: Record<string, string>;
let application: Record<string, string>;
let next: Version;
let afterNext: Version;
let gateway: Gateway;
let load: SteadyLoad;
let loaded: Omit<ConstructorParameters<typeof SteadyLoad>[0], "url">;
let begunAt = 0;
let services: RunningProcess[] = [];
const others: RunningProcess[] = [];
const folders: string[] = [];

async function start(version: Version): Promise<RunningProcess> {
  const running = version.run({ ...application, SERVICES: everything });
  services.push(running);
  await running.printed(/Records service is ready/);
  return running;
}

async function stop(running: RunningProcess): Promise<void> {
  services = services.filter((each) => each !== running);
  expect(await running.stop()).toBe(0);
}

/** One after the other, as a rollout does: a new one is there before an old one goes. */
async function replaceAll(version: Version): Promise<void> {
  const present = services.slice();
  for (const old of present) {
    await start(version);
    await stop(old);
  }
}

async function migrate(version: Version): Promise<{ code: number | null; said: string }> {
  const running = version.run(owner, "host/migrate.ts");
  return { code: await running.exited, said: running.output().trim() };
}

async function startGateway(version: Version): Promise<Gateway> {
  const { DATABASE_APP_URL: _app, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = application;
  const running = version.run({ ...bare, SERVICES: "api-gateway" });
  others.push(running);
  const url = await addressOf(running);
  const call = (method: string, path: string, options?: CallOptions) => callApi(url, method, path, options);
  await eventually(async () => (await call("GET", "/api/auth/tenants")).status === 200);
  return { process: running, url, call };
}

/** Since the last look; begins the next one. */
async function sinceThen(): Promise<Stretch> {
  const until = performance.now();
  const stretch = await load.stretch(begunAt, until);
  begunAt = until;
  return stretch;
}
const expectNoneFailed = async () => {
  const { sent, failed, failures } = await sinceThen();
  expect(sent).toBeGreaterThan(0);
  expect({ failed, failures: failures.slice(0, 5) }).toEqual({ failed: 0, failures: [] });
};

describeWithNats("back and forth over a migration, under load", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    const { DATABASE_URL = "", ...rest } = cluster.settings;
    owner = { DATABASE_URL, BOOT_SECRET: rest["BOOT_SECRET"] ?? "" };
    application = { ...rest, DATABASE_APP_URL: DATABASE_URL.replace(/\/\/.*@/, "//") };
    folders.push(join(cluster.database.folder, "v2"), join(cluster.database.folder, "v3"));
    const [second = "", third = ""] = folders;
    next = await nextVersion(second, "0.2.0", [adds]);
    afterNext = await nextVersion(third, "0.3.0", [adds, takesAway]);
    await start(thisVersion);
    await start(thisVersion);
    gateway = await startGateway(thisVersion);
    const token = await signInAt(gateway, "admin");
    await cluster.database.owner.query("update users set can_see_all_patients = true where role = 'admin'");
    const patient = await eventually(async () => {
      const body = { record_number: "R-4711", full_name: "Some Body" };
      const answer = await gateway.call("POST", "/api/patients", { token, body });
      return answer.status === 201 ? answer.body : undefined;
    });
    const departments = await gateway.call("GET", "/api/admin/departments", { token });
    const departmentIds = departments.body.items.map(({ id }: { id: number }) => id);
    loaded = { token, perSecond, patientId: patient.id, departmentIds };
    load = new SteadyLoad({ url: gateway.url, ...loaded });
    await eventually(async () => {
      const from = performance.now();
      return (await load.stretch(from, from + 1_000)).failed === 0;
    });
    begunAt = performance.now();
  });
  afterAll(async () => {
    await load?.stop();
    await Promise.all([...services, ...others].map((running) => running.stop()));
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
    await cluster?.stop();
  });

  it("a migration runs while this version serves, and lets others pass where it has to wait for a table", async () => {
    const { owner: holder } = cluster.database;
    await holder.query("begin; lock table departments in access share mode");
    const migration = next.run(owner, "host/migrate.ts");
    await migration.printed(/a transaction holds a table that has to change: waiting for its end/);
    const from = performance.now();
    const while_ = await load.stretch(from, from + 3_000);
    expect({ failed: while_.failed, failures: while_.failures.slice(0, 5) }).toEqual({
      failed: 0,
      failures: [],
    });
    await holder.query("commit");
    expect([await migration.exited, migration.output()]).toEqual([0, expect.anything()]);
    expect(migration.output()).toMatch(/The database is ready for this version/);
    await expectNoneFailed();
    const { rows } = await holder.query("select * from schema_compatibility where migration like '9%'");
    expect(rows).toEqual([{ migration: adds.name, oldest: "0.1.0", migrated_by: "0.2.0" }]);
  });

  it("this version is started again beside the newer schema, and says so", async () => {
    const [old] = services;
    const fresh = await start(thisVersion);
    if (old !== undefined) await stop(old);
    expect(fresh.output()).toMatch(/the database is of a newer version, beside which this one works/);
    await expectNoneFailed();
  });

  it("this version's backups of the newer schema can be restored by it", async () => {
    const token = await signInAt(gateway, "admin");
    const { backup_id } = await backUp(gateway, token, { type: "tenant" });
    const plan = await eventually(async () => {
      const answer = await gateway.call("POST", "/api/admin/backup/restore", { token, body: { backup_id } });
      return answer.status !== 503 && answer;
    });
    expect(plan.status).toBe(200);
    const { items } = (await gateway.call("GET", "/api/admin/backup/list", { token })).body;
    expect(items[0].schema_version).toBe(adds.name);
  });

  it("processes of both versions serve beside each other until all are of the later one, the gateway too", async () => {
    await start(next);
    const from = performance.now();
    await load.stretch(from, from + 2_000);
    await replaceAll(next);
    await expectNoneFailed();
    gateway = await startGateway(next);
    await load.stop();
    const { acknowledged } = load;
    load = new SteadyLoad({ url: gateway.url, ...loaded });
    load.acknowledged.push(...acknowledged);
    begunAt = performance.now();
    await load.stretch(begunAt, begunAt + 1_000);
    await expectNoneFailed();
  });

  it("the upgrade is undone: the older migration does nothing, and the older processes take over", async () => {
    const grants = () =>
      cluster.database.owner.query(
        "select relname, relacl::text from pg_class where relnamespace = 'public'::regnamespace order by 1",
      );
    const before = (await grants()).rows;
    expect(await migrate(thisVersion)).toEqual({
      code: 0,
      said: expect.stringMatching(
        /^The database is of a newer version, beside which this one works: the passwords were set, and nothing else; .+\.$/,
      ),
    });
    expect((await grants()).rows).toEqual(before);
    await replaceAll(thisVersion);
    await expectNoneFailed();
  });

  it("what the one after it takes away concerns only this version, which refuses with one sentence", async () => {
    const [one] = services;
    if (one !== undefined) await stop(one);
    await replaceAll(next);
    expect(await migrate(afterNext)).toMatchObject({ code: 0 });
    await replaceAll(next);
    await start(afterNext);
    const sentence =
      "The database was migrated by a newer version of this service (9002-takes-away), beside which 0.2.0 is the oldest that works, and this is 0.1.0: start 0.2.0 or later.";
    expect(await migrate(thisVersion)).toEqual({ code: 1, said: sentence });
    const refused = thisVersion.run({ ...application, SERVICES: everything, SCHEMA_WAIT_SECONDS: "600" });
    expect([await refused.exited, refused.output().trim()]).toEqual([1, sentence]);
    await expectNoneFailed();
  });

  it("every write that was acknowledged on the way is there once", async () => {
    await load.stop();
    const kept: string[] = [];
    for (let page = 1; ; page++) {
      const path = `/api/patients/${loaded.patientId}/records?limit=100&page=${page}`;
      const { body } = await gateway.call("GET", path, { token: loaded.token });
      kept.push(...body.items.map((item: { body: string }) => item.body));
      if (body.items.length < 100) break;
    }
    expect(load.acknowledged.filter((note) => !kept.includes(note))).toEqual([]);
    expect(new Set(kept).size).toBe(kept.length);
    expect(load.acknowledged.length).toBeGreaterThan(20);
  });
});
