// Every fault at every step of a backup and of a restore: a process killed, the store away or full, a crash of PostgreSQL,
// NATS away. Whatever happens: nothing partial is listed, a restore that failed has changed nothing, readers see all old or
// all new, the neighbour's writes are kept, the job ends, and the tenant is let in again.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { crashPostgres, giveBack } from "../../api/backups/gates.ts";
import { describeWithNats } from "../../support/describe-with-nats.ts";
import { program as versitygw } from "../../support/s3.ts";
import { eventually } from "../../support/service.ts";
import { backupSteps, type Job, restoreSteps, type Step, type StepGate } from "./support/backup-steps.ts";
import { seenIn, type Sides, startLoad, startWorld, type World } from "./support/backup-world.ts";

const endMsMax = 240_000;

let world: World;
beforeAll(async () => {
  if (versitygw === undefined) throw new Error("no versitygw on PATH");
  world = await startWorld();
}, 180_000);
afterAll(() => world?.stop(), 60_000);

interface Fault {
  name: string;
  /** Whether everybody notices it, not only the job. */
  isOutage: boolean;
  /** Makes it happen, lets the job go on, and mends it. */
  happen(gate: StepGate, jobId: string): Promise<void>;
  outcomes: readonly (string | null)[];
}

const finished = async (jobId: string) =>
  (
    await world.rows("select from backup_jobs where id = $1 and (finished_at is not null or tries > 1)", [
      jobId,
    ])
  ).length > 0;

async function spoil(gate: StepGate, status: number, methods: RegExp): Promise<void> {
  const by = (line: string) => (methods.test(line) ? { status } : ("none" as const));
  if (gate.spoil === undefined) world.proxy.spoil(by);
  else gate.spoil(by);
  await gate.open();
}

const faults: readonly Fault[] = [
  {
    name: "its process is killed",
    isOutage: false,
    async happen(gate, jobId) {
      await world.replaceWorker();
      await gate.open();
      await giveBack(world.cluster.database.owner, jobId);
    },
    outcomes: [null],
  },
  {
    name: "the store is away",
    isOutage: false,
    async happen(gate, jobId) {
      await spoil(gate, 503, /./);
      await eventually(() => finished(jobId), endMsMax);
      world.proxy.spoil(() => "none");
    },
    outcomes: [null, "store_unavailable"],
  },
  {
    name: "the store is full",
    isOutage: false,
    async happen(gate, jobId) {
      await spoil(gate, 507, /^PUT/);
      await eventually(() => finished(jobId), endMsMax);
      world.proxy.spoil(() => "none");
    },
    outcomes: [null, "store_full"],
  },
  {
    name: "PostgreSQL crashes",
    isOutage: true,
    async happen(gate) {
      await crashPostgres(world.cluster.database.url);
      await gate.open();
    },
    outcomes: [null],
  },
  {
    name: "NATS is away",
    isOutage: true,
    async happen(gate) {
      await world.cluster.nats.kill();
      await gate.open();
      await delay(3_000);
      await world.cluster.nats.start();
    },
    outcomes: [null, "keys_unavailable"],
  },
];

const outcomes: string[] = [];

async function begun(path: string, body: object): Promise<Job> {
  const answer = await eventually(async () => {
    const found = await world.call("POST", path, { token: world.clinic.token, body });
    return found?.status === 200 && found;
  }, 60_000);
  const [row] = await world.rows("select safety_backup_id from backup_jobs where id = $1", [
    answer.body.job_id,
  ]);
  return { id: answer.body.job_id, backupId: answer.body.backup_id, safetyId: row?.["safety_backup_id"] };
}

/** Waits for a job's end without the pauses between its tries; what a kill or a crash left locked is given back at once. */
const soon = (jobId: string) =>
  eventually(async () => {
    const { worker } = world;
    if (worker.child.exitCode !== null)
      throw new Error(`the worker ended by itself:\n${worker.output().slice(-4_000)}`);
    await world.rows(
      "update backup_jobs set leased_until = null where id = $1 and leased_by is null and leased_until > now()",
      [jobId],
    );
    await world.rows(
      `update graphile_worker._private_jobs g set locked_at = null, locked_by = null, run_at = now() from backup_jobs j
       where g.key = 'backups.run:' || j.id and j.id = $1 and j.finished_at is null
         and (j.leased_until <= now() or j.leased_until is null and g.run_at > now())`,
      [jobId],
    );
    const [row] = await world.rows(
      "select status, error_code, tries, safety_backup_id from backup_jobs where id = $1 and finished_at is not null",
      [jobId],
    );
    return row;
  }, endMsMax);

const listed = async (): Promise<string[]> => {
  const answer = await eventually(async () => {
    const found = await world.call("GET", "/api/admin/backup/list", { token: world.clinic.token });
    return found?.status === 200 && found;
  }, 60_000);
  return answer.body.items.map((each: { backup_id: string }) => each.backup_id);
};

/** Whoever is listed is whole; and what is not listed has no manifest, unless it is just being removed. */
async function assertWhole(unlisted: readonly string[]): Promise<void> {
  const ids = await listed();
  for (const id of ids) expect([id, (await world.objectsOf(id)).sort()]).toEqual([id, ["data", "manifest"]]);
  for (const id of unlisted.filter((each) => !ids.includes(each)))
    await eventually(async () => (await world.objectsOf(id)).length === 0, 60_000);
}

function note(job: string, step: Step, fault: Fault, row: Record<string, unknown>, sinceMs: number): void {
  const said = row["error_code"] ?? row["status"];
  const line = `${job.padEnd(8)} ${step.name.padEnd(32)} ${fault.name.padEnd(24)} ${String(said).padEnd(18)} ${row["tries"]} tries, ${((performance.now() - sinceMs) / 1000).toFixed(0)} s`;
  outcomes.push(line);
  process.stdout.write(`${line}\n`);
}

/** With `ONLY=killed,exchange` only those cases whose names have all these words. */
const only = (process.env["ONLY"] ?? "").split(",");
const cases = (steps: readonly Step[]) =>
  faults
    .flatMap((fault) => steps.map((step) => ({ fault, step })))
    .filter(({ fault, step }) => only.every((word) => `${fault.name} ${step.name}`.includes(word)));

describeWithNats("a backup", () => {
  it.each(cases(backupSteps).map((each) => [each.fault.name, each.step.name, each] as const))(
    "%s while it stands at %s",
    async (_fault, _step, { fault, step }) => {
      const since = performance.now();
      const job = Promise.withResolvers<Job>();
      const gate = await step.hold(world, job.promise);
      job.resolve(await begun("/api/admin/backup/create", {}));
      const { id, backupId } = await job.promise;
      await gate.reached();
      expect(await listed()).not.toContain(backupId);
      await fault.happen(gate, id);
      const ended = await soon(id);
      world.proxy.spoil(() => "none");
      note("backup", step, fault, ended, since);
      expect(fault.outcomes).toContain(ended["error_code"]);
      expect((await listed()).includes(backupId)).toBe(ended["status"] === "succeeded");
      await assertWhole([backupId]);
    },
    endMsMax,
  );
});

let nth = 0;

/** One patient deleted, one renumbered, one added: a mix of before and after would show. */
async function changeSince(): Promise<{ backupId: string; sides: Sides }> {
  nth++;
  const { token } = world.clinic;
  const patient = async (number: string) => {
    const body = { record_number: number, full_name: "Some Body" };
    return (await world.call("POST", "/api/patients", { token, body }))?.body;
  };
  const [gone, renumbered] = [await patient(`A-${nth}`), await patient(`B-${nth}`)];
  const { backupId, id } = await begun("/api/admin/backup/create", {});
  expect(await soon(id)).toMatchObject({ status: "succeeded" });
  const archived = (await seenIn(world)).numbers;
  await world.call("DELETE", `/api/patients/${gone.id}`, { token });
  const body = { version: renumbered.version, record_number: `C-${nth}` };
  await world.call("PUT", `/api/patients/${renumbered.id}`, { token, body });
  await patient(`D-${nth}`);
  return { backupId, sides: { old: (await seenIn(world)).numbers, new: archived } };
}

const sums = async () =>
  (
    await world.rows(
      `select (select md5(string_agg(p::text, ',' order by p.id)) from patients p where tenant_id = $1) as patients,
         (select md5(string_agg(u::text, ',' order by u.id)) from users u where tenant_id = $1) as users,
         (select md5(string_agg(d::text, ',' order by d.id)) from departments d where tenant_id = $1) as departments,
         (select md5(string_agg(r::text, ',' order by r.id)) from patient_records r where tenant_id = $1) as records`,
      [world.clinic.id],
    )
  )[0];

describeWithNats("a restore", () => {
  it.each(cases(restoreSteps).map((each) => [each.fault.name, each.step.name, each] as const))(
    "%s while it stands at %s",
    async (_fault, _step, { fault, step }) => {
      const { backupId, sides } = await changeSince();
      const before = await sums();
      const since = performance.now();
      const job = Promise.withResolvers<Job>();
      const gate = await step.hold(world, job.promise);
      let outage = false;
      const load = startLoad(world, sides, () => outage);
      job.resolve(await begun("/api/admin/backup/restore", { backup_id: backupId, confirm: true }));
      const { id, safetyId } = await job.promise;
      await gate.reached();
      outage = fault.isOutage;
      await fault.happen(gate, id);
      const ended = await soon(id);
      world.proxy.spoil(() => "none");
      // The tenant is let in, whatever became of the job.
      const seen = await eventually(async () => {
        const found = await seenIn(world);
        return found.status === 200 && found;
      }, 60_000);
      const { wrong, written } = await load.stop();
      note("restore", step, fault, ended, since);
      expect(wrong).toEqual([]);
      expect(fault.outcomes).toContain(ended["error_code"]);
      expect(seen.numbers).toBe(ended["status"] === "succeeded" ? sides.new : sides.old);
      if (ended["status"] === "failed") expect(await sums()).toEqual(before);
      const kept = await world.rows("select id from patients where id = any($1) and tenant_id = $2", [
        written,
        world.neighbour.id,
      ]);
      expect(kept).toHaveLength(written.length);
      expect(await world.rows("select from tenant_freezes where until > now()")).toEqual([]);
      await assertWhole([safetyId, String(ended["safety_backup_id"])]);
    },
    endMsMax,
  );
});

describeWithNats("a process that stands still in the exchange", () => {
  it(
    "loses the tenant's lock by itself, and does nothing when it wakes",
    async () => {
      const { backupId, sides } = await changeSince();
      const before = restoreSteps.find(({ name }) => name === "the exchange, before its commit");
      const job = Promise.withResolvers<Job>();
      const gate = await before?.hold(world, job.promise);
      job.resolve(await begun("/api/admin/backup/restore", { backup_id: backupId, confirm: true }));
      const { id } = await job.promise;
      await gate?.reached();
      const still = world.worker;
      still.child.kill("SIGSTOP");
      await gate?.open();
      const since = performance.now();
      const { token } = world.clinic;
      const body = { record_number: "S-1", full_name: "Written Meanwhile" };
      await eventually(
        async () => (await world.call("POST", "/api/patients", { token, body }))?.status === 201,
        90_000,
      );
      process.stdout.write(
        `the tenant was let in after ${((performance.now() - since) / 1000).toFixed(0)} s\n`,
      );
      expect((await seenIn(world)).numbers).toBe([...sides.old.split(","), "S-1"].sort().join());
      await world.startWorker();
      expect(await soon(id)).toMatchObject({ status: "succeeded", tries: 2 });
      expect((await seenIn(world)).numbers).toBe(sides.new);
      const after = await sums();
      still.child.kill("SIGCONT");
      await eventually(
        async () => /another worker has the job|not queryable|terminated/.test(still.output()),
        60_000,
      );
      expect(await sums()).toEqual(after);
      expect((await soon(id))["status"]).toBe("succeeded");
      await still.stop();
    },
    endMsMax,
  );
});

describeWithNats("when all is over", () => {
  it("the sweep leaves what is listed, and keys of nothing else", async () => {
    await world.ageStore();
    const [job] = await world.rows("select (graphile_worker.add_job('backups.sweep')).id");
    await eventually(
      async () =>
        (await world.rows("select from graphile_worker._private_jobs where id = $1", [job?.["id"]]))
          .length === 0,
      60_000,
    );
    const ids = (await world.rows("select id from backups order by id")).map((row) => row["id"]);
    expect((await world.idsInStore()).sort()).toEqual(ids);
    expect(
      (await world.rows("select backup_id from archive_keys order by 1")).map((row) => row["backup_id"]),
    ).toEqual(ids);
    expect(await world.rows("select from staging.patients union all select from staging.users")).toEqual([]);
    const { body } =
      (await world.call("GET", "/api/admin/audit/verify", { token: world.clinic.token })) ?? {};
    expect(body).toMatchObject({ ok: true });
    process.stdout.write(`${outcomes.length} faults\n${outcomes.join("\n")}\n`);
  });
});
