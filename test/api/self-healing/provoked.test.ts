// Every fault of the catalogue, provoked on the running service: met by its detector, and healed and verified where it has a
// remedy. Fixes are confirmed before, so that what happens is what happens by itself.
import { rm, stat, utimes, writeFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { backUp, ended } from "../backups/scene.ts";
import type { Healable } from "../../../mixins/healing/catalogue.ts";
import { mailTo } from "../../support/mailbox.ts";
import { eventually } from "../../support/service.ts";
import { makeClinic, makeDepartment } from "../../support/tenancy.ts";
import { type BreakSite, breaks, storedFile, untilProved } from "./breaks.ts";
import { provokedIn } from "./provoked-in.ts";
import { type Incident, miscount, openScene, type Provoking, provoking, type Scene } from "./scene.ts";

let scene: Scene;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let provoked: Set<string>;
let seen: Provoking["seen"];
let repairTimes: Provoking["repairTimes"];
let site: BreakSite;

beforeAll(async () => {
  scene = await openScene({ WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8", IDLE_IN_TRANSACTION_MAX_SECONDS: "3" });
  clinic = await makeClinic(scene.service, scene.token);
  const { service, sql: asOwner } = scene;
  site = { service, databaseUrl: service.database.url, clinic, sql: asOwner };
  ({ provoked, seen, repairTimes } = await provoking(scene));
});
afterAll(() => scene?.stop());

const sql = (text: string, values?: unknown[]) => scene.sql<Record<string, any>>(text, values);

/** Breaks it, and sees it healed. */
async function broken(code: Healable): Promise<{ target: string; incident: Incident }> {
  const target = await breaks[code](site);
  return { target, incident: await seen(code, target) };
}

const idIn = (target: string) => target.slice(target.indexOf(":") + 1);

const jobsOf = (task: string) =>
  sql(
    "select j.* from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = $1",
    [task],
  );

describe("work", () => {
  it("a job whose worker is gone is given back and done", async () => {
    await broken("job_worker_gone");
    await eventually(async () => (await jobsOf("users.purge")).length === 0);
  });

  it("a job that failed too often is begun again", async () => {
    await broken("job_gave_up");
    await eventually(async () => (await jobsOf("tenants.purge")).length === 0);
  });

  it("jobs that nobody takes are told", async () => {
    // Of a queue that somebody else holds, as far as its row says.
    await sql(
      "insert into graphile_worker._private_job_queues (queue_name, locked_at, locked_by) values ('held', now(), 'nobody')",
    );
    await sql(
      "select graphile_worker.add_job('patients.purge', run_at := now() - interval '20 minutes', queue_name := 'held')",
    );
    await seen("jobs_waiting", "task:patients.purge");
    // An operator takes it away; when a worker would come by is not this test's affair.
    await sql(
      "select graphile_worker.complete_jobs(array_agg(id)) from graphile_worker._private_jobs where run_at < now() - interval '15 minutes'",
    );
    await scene.met("jobs_waiting", "task:patients.purge", "ended");
  });

  async function webhook(): Promise<number> {
    const body = { url: "http://127.0.0.1:9/nobody", events: ["*"] };
    const { body: made } = await scene.service.call("POST", "/api/webhooks/register", {
      token: clinic.token,
      body,
    });
    return made.id;
  }

  it("a delivery that nobody is told to make is made", async () => {
    const { target } = await broken("delivery_stuck");
    await eventually(
      async () =>
        (await sql("select from deliveries where target_id = $1 and attempts > 0", [idIn(target)])).length >
        0,
    );
  });

  it("a webhook that has failed for days is told", async () => {
    const id = await webhook();
    await sql("update webhooks set failing_since = now() - interval '3 days' where id = $1", [id]);
    await seen("webhook_failing", `webhook:${id}`);
    await sql("update webhooks set failing_since = null where id = $1", [id]);
    await scene.met("webhook_failing", `webhook:${id}`, "ended");
  });

  it("events that do not become deliveries are told", async () => {
    // Somebody else holds the fan-out of the tenant.
    const other = new pg.Client({ connectionString: scene.service.database.url });
    await other.connect();
    try {
      await other.query("select pg_advisory_lock($1, $2)", [0x0fa4, clinic.id]);
      await makeDepartment(scene.service, clinic.token);
      await sql(
        "update events set created_at = now() - interval '5 minutes' where (tenant_id, id) in (select tenant_id, event_id from fan_out_queue)",
      );
      await seen("outbox_lagging", "outbox");
    } finally {
      await other.end();
    }
    await scene.met("outbox_lagging", "outbox", "ended");
  });

  it("a chat of a user who was blocked is unlinked", async () => {
    const { target } = await broken("link_left_behind");
    expect(await sql("select from messenger_links where id = $1", [idIn(target)])).toEqual([]);
    // The counters were not told of the block either.
    await seen("user_counts_differ", `tenant:${clinic.id}`);
  });

  it("a connection that holds a transaction and does nothing is ended", async () => {
    const { target } = await broken("session_idle_in_transaction");
    const pid = idIn(target).split("@")[0];
    await eventually(
      async () => (await sql("select from pg_stat_activity where pid = $1", [pid])).length === 0,
    );
  });
});

describe("rows", () => {
  it("counters of users are corrected", async () => {
    const other = await makeClinic(scene.service, scene.token);
    await miscount(scene, other.id);
    await seen("user_counts_differ", `tenant:${other.id}`);
  });

  it("a department loses a head doctor who is deleted", async () => {
    const { target } = await broken("department_head_gone");
    expect(await sql("select head_doctor_id from departments where id = $1", [idIn(target)])).toEqual([
      { head_doctor_id: null },
    ]);
  });

  it("expired sessions, tokens and counters go", async () => {
    await broken("expired_rows_pile_up");
    // One sweep takes all: what is provoked together is gone together.
    await sql("insert into rate_limits (key, points, expire) values ('old', 1, 1000)");
    await seen("expired_rows_pile_up", "rows:rate_limits");
  });

  it("what was deleted before the retention is purged", async () => {
    await broken("purge_overdue");
    const [overdue] = await sql("select from users where deleted_at < now() - interval '32 days'");
    expect(overdue).toBeUndefined();
  });

  it("notifications and deliveries beyond 90 days are swept", async () => {
    await broken("log_beyond_retention");
  });

  it("an audit log that is not whole is told, and one that is not proved is proved", async () => {
    await untilProved(site);
    await sql("update audit_proofs set first_bad_seq = 1, proved_at = now() where tenant_id = $1", [
      clinic.id,
    ]);
    await seen("audit_chain_broken", `tenant:${clinic.id}`);
    const { body: health } = await scene.service.call("GET", "/api/admin/health", { token: clinic.token });
    expect(health).toMatchObject({ audit_ok: false, audit_proved_at: expect.any(String) });
    await broken("audit_proof_overdue");
    await scene.met("audit_chain_broken", `tenant:${clinic.id}`, "ended");
  });

  it("sealed fields that do not open, and a rotation that stands still, are told", async () => {
    await sql(
      `insert into rotations (master_version, previous_version, rewrapped, rows_total, tenants_total, state, started_at, finished_at)
       values (1, 1, 0, 5, 0, 'finished', now() - interval '3 days', now())`,
    );
    await sql(
      `insert into quarantined_fields (tenant_id, table_name, row_id, column_name, reason, rotation_id)
       select $1, 'patients', 1, 'notes', 'format', max(id) from rotations`,
      [clinic.id],
    );
    await seen("sealed_unreadable", `tenant:${clinic.id}`);
    await sql("delete from quarantined_fields");
    await scene.met("sealed_unreadable", `tenant:${clinic.id}`, "ended");
    const [rotation] = await sql(
      `update rotations set state = 'running', finished_at = null, leased_by = gen_random_uuid(),
         leased_until = now() + interval '50 seconds' returning id`,
    );
    await seen("rotation_stalled", `rotation:${rotation?.id}`);
    await sql("delete from rotations");
    await scene.met("rotation_stalled", `rotation:${rotation?.id}`, "ended");
  });
});

describe("backups", () => {
  const fileOf = (id: string, part: string) => storedFile(site, id, part);

  it("a job that nobody works on, and the queue has forgotten, is taken up", async () => {
    const { target } = await broken("backup_job_abandoned");
    const id = idIn(target);
    expect(await ended(scene.service, scene.token, id)).toMatchObject({ status: "succeeded" });
  });

  it("a full backup that is too old is followed by another, and an old proof by a new one", async () => {
    await broken("backup_overdue");
    await eventually(
      async () =>
        (await sql("select from backups where type = 'full' and created_at > now() - interval '1 hour'"))
          .length > 0,
    );
    await broken("proof_overdue");
    await eventually(
      async () =>
        (await sql("select from backups where test_passed and tested_at > now() - interval '1 hour'"))
          .length > 0,
    );
  });

  it("a backup whose archive is not in the store leaves the list", async () => {
    const { target } = await broken("backup_object_missing");
    const lost = idIn(target);
    await eventually(async () => (await sql("select from backups where id = $1", [lost])).length === 0);
    expect(await sql("select distinct state from backups where type = 'tenant'")).toEqual([
      { state: "complete" },
    ]);
  });

  it("a restore that meets a backup without its manifest has it looked for at once, without a look by the clock", async () => {
    const lost = await backUp(scene.service, clinic.token);
    await rm(await fileOf(lost.backup_id, "manifest"));
    const body = { backup_id: lost.backup_id };
    const plan = await scene.service.call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
    expect(plan.status).toBe(404);
    await eventually(async () =>
      (await scene.incidents("backup_object_missing")).some(
        ({ target, status }) => target === `backup:${lost.backup_id}` && status === "healed",
      ),
    );
  });

  it("a backup that the list has lost is listed again, and what a failed try left is deleted", async () => {
    const made = await backUp(scene.service, clinic.token);
    const [before] = await sql("select size_bytes, rows, sha256 from backups where id = $1", [
      made.backup_id,
    ]);
    await sql("delete from backups where id = $1", [made.backup_id]);
    const long = new Date(Date.now() - 3 * 3_600_000);
    for (const part of ["data", "manifest"]) await utimes(await fileOf(made.backup_id, part), long, long);
    await seen("object_without_backup", `object:${made.backup_id}`);
    expect(await sql("select size_bytes, rows, sha256 from backups where id = $1", [made.backup_id])).toEqual(
      [before],
    );

    const left = `bk_${"0".repeat(31)}7`;
    const path = join(await fileOf(made.backup_id, "data"), "../..", left);
    await mkdir(path);
    await writeFile(join(path, "data"), "half");
    await utimes(join(path, "data"), long, long);
    await seen("object_without_backup", `object:${left}`);
    await expect(stat(join(path, "data"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("the mark of a restore that no longer runs is deleted", async () => {
    await broken("freeze_left_behind");
    expect(await sql("select from tenant_freezes")).toEqual([]);
  });
});

describe("the database", () => {
  it("an index that is not valid is told", async () => {
    await sql("create table broken (id integer); create index broken_id on broken (id)");
    await sql("update pg_index set indisvalid = false where indexrelid = 'broken_id'::regclass");
    const { id } = await seen("invalid_index", "index:broken_id");
    // Nothing of ours mends it, so its operators are told, by mail and by event.
    const mail = await mailTo(scene.service, "admin@platform.example", /An index that is not valid/);
    expect(mail.text).toContain("The service cannot mend this by itself");
    const told = await sql("select payload from events where kind = 'incident.opened'");
    expect(told.map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ incident_id: id, code: "invalid_index", tenant_id: null }),
    );
    await sql("drop table broken");
    await scene.met("invalid_index", "index:broken_id", "ended");
  });

  it("statistics that are out of date, and dead rows that stay, are told", async () => {
    await sql("create table busy (id integer) with (autovacuum_enabled = false)");
    await sql("insert into busy select generate_series(1, 150000)");
    await sql("delete from busy where id > 60000");
    await sql("select pg_stat_force_next_flush()");
    await seen("statistics_stale", "table:busy");
    await seen("vacuum_behind", "table:busy");
    await sql("drop table busy");
    await scene.met("vacuum_behind", "table:busy", "ended");
  });

  it("transaction ids that run out are told", async () => {
    const [{ frozen } = { frozen: "" }] = await sql(
      "select datfrozenxid::text as frozen from pg_database where datname = current_database()",
    );
    await sql(
      `update pg_database set datfrozenxid = (((pg_current_xact_id()::text::bigint - 1200000000) & 4294967295)::text)::xid
       where datname = current_database()`,
    );
    await seen("transaction_ids_run_out", /^database:/);
    await sql("update pg_database set datfrozenxid = ($1::text)::xid where datname = current_database()", [
      frozen,
    ]);
    await scene.met("transaction_ids_run_out", /^database:/, "ended");
  });
});

it("every fault that is to be provoked here was, and nothing else was touched", async () => {
  // Shown unless the tests are silent.
  console.log(repairTimes());
  expect([...provoked].sort()).toEqual(provokedIn("provoked"));
  const fixes = await scene.fixes();
  expect(fixes.filter(({ status }) => status === "suspended")).toEqual([]);
  expect(fixes.filter((fix) => fix["failed"] !== 0)).toEqual([]);
  expect(await scene.look()).toMatchObject({ found: 0, opened: 0, silent: [] });
});
