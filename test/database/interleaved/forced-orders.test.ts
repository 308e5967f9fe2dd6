// What two processes do to the same rows, in an order that the test chooses: the functions that write are called one
// after the other, with what each of them had read before, or while another transaction holds what they need.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import type { ServiceBroker } from "moleculer";
import { jobs } from "../../../mixins/jobs/jobs.ts";
import { endJob, renewJob, leaseJob } from "../../../services/backups/job-store.ts";
import { isNeeded, needsOf, retireDataKeys } from "../../../services/crypto/retire-keys.ts";
import { sealedPlaces } from "../../../services/crypto/sealed-columns.ts";
import { readKeys } from "../../../services/crypto/tenant-keys.ts";
import { type BatchBounds, resealBatch } from "../../../services/crypto/reseal-batch.ts";
import { decideBatch } from "../../../services/payments/decide-batch.ts";
import {
  type KnownState,
  readStatement,
  writeStatement,
} from "../../../services/payments/inbox-statements.ts";
import { seed } from "../../../host/seed.ts";
import { Caller } from "../../../services/shared/caller.ts";
import type { Database } from "../../../services/shared/database/database.ts";
import { platform } from "../../../services/shared/database/scope.ts";
import type { Attempt } from "../../../mixins/deliveries/channel.ts";
import { readDue, writeResults } from "../../../mixins/deliveries/due-deliveries.ts";
import { acquireLeases, renewLeases, releaseIdleLeases } from "../../../mixins/deliveries/leases.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { auditRefusal } from "../../../services/shared/limits/audit-refusal.ts";
import { keyIdOf } from "../../../services/shared/sealing/ciphertext.ts";
import { pause } from "../../../services/shared/pause.ts";
import { TenantKeys } from "../../../services/shared/sealing/tenant-keys.ts";
import { type KeyringScene, openKeyring } from "../../support/keyring-scene.ts";
import { withHolder } from "../../support/holder.ts";
import { notificationItem } from "../../support/notifications.ts";
import { eventually } from "../../support/service.ts";

let scene: KeyringScene;
let database: Database;
let tenantId: number;
const caller = Caller.system("tests");
const query = (sql: string, values: unknown[] = []) => scene.rowsOf(sql, values);
beforeAll(async () => {
  scene = await openKeyring();
  ({ database } = scene.runtime);
});
afterAll(() => scene.stop());
beforeEach(async () => {
  tenantId = await scene.freshTenant();
});

describe("deliveries, when another worker has taken over", () => {
  const tried: Attempt = {
    outcome: "delivered",
    statusCode: 200,
    durationMs: 1,
    error: null,
    response: null,
  };
  let targetId: number;
  beforeEach(async () => {
    [{ id: targetId }] = await query(
      `insert into delivery_targets (tenant_id, channel, events, next_due_at) values ($1, 'webhook', '{*}', now())
       returning id`,
      [tenantId],
    );
    await query(
      `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at)
       values ($1, $2, 1, 1, 'user.created', '{}', now(), now())`,
      [tenantId, targetId],
    );
  });
  const read = async () => {
    const [delivery] = await readDue(database, [{ tenantId, targetId }], [], 10);
    if (delivery === undefined) throw new Error("nothing is due");
    return delivery;
  };

  it("a late result goes into the log and changes nothing", async () => {
    const [late, present] = [await read(), await read()];
    const failed = { ...tried, outcome: "failed", statusCode: 500 } as const;
    await writeResults(database, [
      { delivery: present, attempt: failed, next: { state: "pending", delaySeconds: 600 } },
    ]);
    await writeResults(database, [{ delivery: late, attempt: tried, next: { state: "succeeded" } }]);
    const now = await query("select state, attempts, tries from deliveries where target_id = $1", [targetId]);
    expect(now).toEqual([{ state: "pending", attempts: 1, tries: 1 }]);
    const log = await query("select status_code from delivery_attempts where delivery_id = $1 order by id", [
      late.id,
    ]);
    expect(log.map(({ status_code: status }) => status)).toEqual([500, 200]);
  });

  it("what was canceled stays canceled", async () => {
    const late = await read();
    await query("update deliveries set state = 'canceled', finished_at = now() where id = $1", [late.id]);
    await writeResults(database, [{ delivery: late, attempt: tried, next: { state: "succeeded" } }]);
    expect(await query("select state from deliveries where id = $1", [late.id])).toEqual([
      { state: "canceled" },
    ]);
  });

  it("a lease is one worker's until it has run out, and then no longer the first one's", async () => {
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    const ids = async (worker: string) =>
      (await acquireLeases(database, "webhook", worker, 1_000))
        .map(({ id }) => id)
        .filter((id) => id === targetId);
    expect(await ids(first)).toEqual([targetId]);
    expect(await ids(second)).toEqual([]);
    await query("update delivery_targets set leased_until = now() - interval '1 second' where id = $1", [
      targetId,
    ]);
    expect(await ids(second)).toEqual([targetId]);
    expect(await renewLeases(database, first, [targetId])).toEqual([]);
    const [{ wakes }] = await query("select wakes from delivery_targets where id = $1", [targetId]);
    expect(await releaseIdleLeases(database, first, [{ id: targetId, wakes }])).toEqual([]);
    expect(await query("select leased_by from delivery_targets where id = $1", [targetId])).toEqual([
      { leased_by: second },
    ]);
  });

  it("a target that was woken since it was looked at is not let go", async () => {
    const worker = crypto.randomUUID();
    const [leased] = (await acquireLeases(database, "webhook", worker, 1_000)).filter(
      ({ id }) => id === targetId,
    );
    await query("update delivery_targets set wakes = wakes + 1 where id = $1", [targetId]);
    expect(await releaseIdleLeases(database, worker, [{ id: targetId, wakes: leased?.wakes ?? "" }])).toEqual(
      [],
    );
  });
});

describe("payments, when another process was quicker", () => {
  const known = async (id: string, paymentId: string): Promise<KnownState> => {
    const [{ subdomain }] = await query("select subdomain from tenants where id = $1", [tenantId]);
    const asked = [{ provider: "card", id, paymentId }];
    const read = await database.readOne<KnownState>(platform, readStatement(subdomain, asked));
    if (read === undefined) throw new Error("a select without a table answers a row");
    return read;
  };

  it("a batch that was decided on an older version is not written at all", async () => {
    const first = notificationItem({ id: "n-1", status: "pending", occurredMs: 1_000 });
    const { written: made } = decideBatch([first], await known("n-1", "p-1"));
    if (made === undefined) throw new Error("nothing was decided");
    await database.write(platform, caller, writeStatement(made));
    const [failed, succeeded] = [
      notificationItem({ id: "n-2", status: "failed", occurredMs: 2_000 }),
      notificationItem({ id: "n-3", status: "succeeded", occurredMs: 3_000 }),
    ];
    // Both are decided on what is there before either of them is written.
    const [quick, slow] = [
      decideBatch([succeeded], await known("n-3", "p-1")).written,
      decideBatch([failed], await known("n-2", "p-1")).written,
    ];
    if (quick === undefined || slow === undefined) throw new Error("nothing was decided");
    await database.write(platform, caller, writeStatement(quick));
    await expect(database.write(platform, caller, writeStatement(slow))).rejects.toMatchObject({
      code: "RP001",
    });
    expect(await query("select status, version from payments where tenant_id = $1", [tenantId])).toEqual([
      { status: "succeeded", version: 2 },
    ]);
    expect(
      await query("select notification_id from payment_notifications where tenant_id = $1 order by 1", [
        tenantId,
      ]),
    ).toEqual([{ notification_id: "n-1" }, { notification_id: "n-3" }]);
  });
});

describe("a rotation's walk", () => {
  const walker = crypto.randomUUID();
  const patients = sealedPlaces.findIndex(({ table }) => table === "patients");
  let rotationId: number;
  let before: TenantKeys;
  let now: TenantKeys;

  const keysOf = async () =>
    new TenantKeys(tenantId, await readKeys(scene.runtime, tenantId), () => ({ seals: 0 }));
  beforeEach(async () => {
    await scene.ask(tenantId);
    before = await keysOf();
    await scene.ask(tenantId, before.fieldKeyId);
    now = await keysOf();
    await query("update rotations set state = 'finished', finished_at = now() where state = 'running'");
    await query(
      "insert into master_keys (version, fingerprint, state, destroyed_at) select max(version) + 1, sha256(max(version)::text::bytea), 'destroyed', now() from master_keys",
    );
    [{ id: rotationId }] = await query(
      `insert into rotations (master_version, previous_version, rewrapped, rows_total, tenants_total, leased_by,
         leased_until) select max(version), 1, 0, 0, 1, $1, now() + interval '1 hour' from master_keys returning id`,
      [walker],
    );
    await query("insert into rotation_tenants (rotation_id, tenant_id) values ($1, $2)", [
      rotationId,
      tenantId,
    ]);
  });
  afterAll(() =>
    query("update rotations set state = 'finished', finished_at = now() where state = 'running'"),
  );

  /** Sealed with the key of before. @returns their ids in order */
  async function fill(count: number): Promise<number[]> {
    const rows = await query(
      `insert into patients (tenant_id, record_number, identity, full_name_index)
       select $1, 'R-' || n, '-', sha256('-') from generate_series(1, $2) n returning id`,
      [tenantId, count],
    );
    for (const { id } of rows)
      await query("update patients set identity = $1 where id = $2", [
        before.seal("patients", "identity", id, `Name ${id}`),
        id,
      ]);
    return rows.map(({ id }) => id);
  }
  const names = async () =>
    (await query("select id, identity from patients where tenant_id = $1 order by id", [tenantId])).map(
      ({ id, identity }) => [
        keyIdOf(identity) === now.fieldKeyId,
        now.open("patients", "identity", id, identity),
      ],
    );
  const step = (afterId: number, bounds: BatchBounds, on = database) => {
    const place = sealedPlaces[patients];
    if (place === undefined) throw new Error("patients are sealed");
    return resealBatch(
      on,
      now,
      { rotationId, tenantId, workerId: walker, placeIndex: patients, place, afterId },
      bounds,
    );
  };

  it.each([
    ["full to the last row", { rowsMax: 2, scannedMax: 2 }],
    ["of one row", { rowsMax: 1, scannedMax: 100 }],
    ["longer than all", { rowsMax: 100, scannedMax: 100 }],
  ])("in batches %s leaves no row out", async (_which, bounds) => {
    const ids = await fill(6);
    let rows = 0;
    for (let after: number | undefined = 0, steps = 0; after !== undefined && steps < 20; steps++) {
      const done = await step(after, bounds);
      rows += done.rows;
      after = done.nextAfterId;
    }
    expect(rows).toBe(6);
    expect(await names()).toEqual(ids.map((id) => [true, `Name ${id}`]));
  });

  it("leaves alone what somebody has written since it read the row", async () => {
    const [first = 0, second = 0] = await fill(2);
    const interrupted = {
      read: async (...asked: Parameters<Database["read"]>) => {
        const rows = await database.read(...asked);
        const fresh = now.seal("patients", "identity", first, "A new name");
        await query("update patients set identity = $1 where id = $2", [fresh, first]);
        return rows;
      },
      write: (...asked: Parameters<Database["write"]>) => database.write(...asked),
    };
    // Of a database the walk uses these two.
    const done = await step(0, { rowsMax: 10, scannedMax: 10 }, interrupted as unknown as Database);
    expect(done.hasLease).toBe(true);
    expect(await names()).toEqual([
      [true, "A new name"],
      [true, `Name ${second}`],
    ]);
  });

  it("writes nothing once another walks", async () => {
    await fill(1);
    await query("update rotations set leased_by = $1 where id = $2", [crypto.randomUUID(), rotationId]);
    expect((await step(0, { rowsMax: 10, scannedMax: 10 })).hasLease).toBe(false);
    expect(await names()).toEqual([[false, expect.stringMatching(/^Name /)]]);
    expect(await query("select after_id from rotation_tenants where tenant_id = $1", [tenantId])).toEqual([
      { after_id: 0 },
    ]);
  });

  const retire = () => retireDataKeys(database, caller, tenantId, 0);
  const stateOf = async (keyId: number) =>
    (await query("select state from data_keys where id = $1", [keyId]))[0].state;

  it("ends the old key when nothing names it", async () => {
    await fill(1);
    await step(0, { rowsMax: 10, scannedMax: 10 });
    expect(await retire()).toBe(true);
    expect(await stateOf(before.fieldKeyId)).toBe("destroyed");
  });

  it("waits for whoever is writing a row under the old key, and keeps the key", async () => {
    const [id = 0] = await fill(1);
    const late = before.seal("patients", "identity", id, "Written late");
    await step(0, { rowsMax: 10, scannedMax: 10 });
    const ended = await withHolder(scene.ownerUrl, async (holder) => {
      await holder.query("select set_config('app.tenant_id', $1, true)", [String(tenantId)]);
      await holder.query("update patients set identity = $1 where id = $2", [late, id]);
      return holder.commitBehind(retire);
    });
    expect(ended).toBe(false);
    expect(await stateOf(before.fieldKeyId)).toBe("decrypt_only");
    expect(await names()).toEqual([[false, "Written late"]]);
  });

  it("keeps a key that a backup may need", async () => {
    await fill(1);
    await step(0, { rowsMax: 10, scannedMax: 10 });
    const backupId = `bk_${String(tenantId).padStart(32, "0")}`;
    await query(
      "insert into archive_keys (backup_id, tenant_id, master_version, wrapped) values ($1, $2, 1, '-')",
      [backupId, tenantId],
    );
    await retire();
    expect(await stateOf(before.fieldKeyId)).toBe("decrypt_only");
    await query("delete from archive_keys where backup_id = $1", [backupId]);
    await retire();
    expect(await stateOf(before.fieldKeyId)).toBe("destroyed");
  });

  const columns = sealedPlaces.flatMap(({ table, columns: all }) =>
    all.map((column) => [table, column] as const),
  );
  it.each(columns)("keeps a key that %s.%s alone names", async (table, column) => {
    const [patientId] = await fill(1);
    await step(0, { rowsMax: 10, scannedMax: 10 });
    const named = before.seal("patients", "identity", 1, "-");
    if (table === "patient_records")
      await query(
        "insert into patient_records (tenant_id, patient_id, kind, body) values ($1, $2, 'visit', '-')",
        [tenantId, patientId],
      );
    if (table === "webhooks")
      await query(
        `with t as (insert into delivery_targets (tenant_id, channel, events) values ($1, 'webhook', '{*}') returning id)
         insert into webhooks (tenant_id, id, url, secret) select $1, id, 'https://a.example/', '-' from t`,
        [tenantId],
      );
    const also = column === "previous_secret" ? ", previous_secret_until = now()" : "";
    const { length } = await query(
      `update ${table} set ${column} = $1${also} where tenant_id = $2 returning 1`,
      [named, tenantId],
    );
    expect(length).toBe(1);
    expect(await retire()).toBe(false);
    expect(await stateOf(before.fieldKeyId)).toBe("decrypt_only");
    const needs = await database.change(platform, caller, (change) =>
      needsOf(change, tenantId, before.fieldKeyId),
    );
    expect([isNeeded(needs), needs.rows[table]]).toEqual([true, 1]);
  });
});

describe("refusals", () => {
  it("of two that are the first in the same moment one is an entry, and the other is counted", async () => {
    const refusal = { tenantId, action: "auth.login", outcome: "denied", byTarget: false } as const;
    const { log } = scene.runtime;
    const refuse = (until?: Promise<void>) =>
      database.change({ tenantId }, caller, async (change) => {
        await auditRefusal(change, { log, metrics: undefined }, caller, refusal);
        begun.resolve();
        await until;
      });
    const [begun, going] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = refuse(going.promise);
    await begun.promise;
    const second = refuse();
    await eventually(async () => {
      const waiting = await query(
        "select from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0",
      );
      return waiting.length === 1;
    });
    going.resolve();
    await Promise.all([first, second]);
    expect(
      await query("select from audit_entries where tenant_id = $1 and action = 'auth.login'", [tenantId]),
    ).toHaveLength(1);
    expect(await query("select times from audit_repeats where tenant_id = $1", [tenantId])).toEqual([
      { times: 1 },
    ]);
  });
});

describe("a backup's job", () => {
  it("of two workers of a backup's job one ends it: the one that holds it", async () => {
    const [late, present] = [crypto.randomUUID(), crypto.randomUUID()];
    const [{ id }] = await query(
      `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason)
       values (gen_random_uuid(), 'backup', 'tenant', $1, $2, 'manual') returning id`,
      [tenantId, `bk_${String(tenantId).padStart(32, "0")}`],
    );
    expect(await leaseJob(database, id, late)).toMatchObject({ id, tries: 1 });
    expect(await leaseJob(database, id, present)).toBeUndefined();
    await query("update backup_jobs set leased_until = now() - interval '1 second' where id = $1", [id]);
    expect(await leaseJob(database, id, present)).toMatchObject({ id, tries: 2 });
    const at = { status: "running", step: "-", percent: 1, rows: 0, bytes: 0 } as const;
    expect(await renewJob(database, id, late, at)).toBe(false);
    const end = (worker: string) =>
      database.change(platform, caller, (change) => endJob(change, id, worker, "succeeded"));
    expect([await end(late), await end(present), await end(present)]).toEqual([false, true, false]);
  });
});

describe("clocks of several replicas", () => {
  it("enqueue one job per occurrence", async () => {
    let asked = 0;
    const pool = new Proxy(database.pool, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          if (name === "query" && JSON.stringify(given).includes("audit.tick")) asked++;
          return value.apply(target, given);
        };
      },
    });
    const { log } = scene.runtime;
    // Moleculer calls these two on the service; nobody here has the task. Their clock makes a minute of each half second.
    const startedAt = Date.now();
    const clock = {
      now: () => startedAt + (Date.now() - startedAt) * 120,
      wait: (ms: number, signal: AbortSignal) => pause(ms / 120, signal),
    };
    const options = {
      tasks: { "audit.other": async () => {} },
      schedules: { "audit.tick": "* * * * *" },
    };
    const { started, stopped } = jobs(options, clock) as {
      [hook in "started" | "stopped"]?: unknown;
    } as Record<"started" | "stopped", (this: object) => unknown>;
    const replicas = [1, 2, 3, 4].map(() => ({ runtime: { database: { pool }, config: {}, log } }));
    for (const replica of replicas) started.call(replica);
    try {
      await eventually(async () => asked >= 12);
    } finally {
      for (const replica of replicas) await stopped.call(replica);
    }
    const found = await query(
      "select from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id where identifier = 'audit.tick'",
    );
    // Each of them ticked thrice or so: that is an occurrence for every four that asked, and one that was cut.
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(Math.ceil(asked / 4) + 1);
  });

  const addDue = async (task: string, due: string) => {
    const text = "select add_due_task($1, date_trunc('minute', now()) + $2::interval, 3, null) as added";
    return (await database.pool.query<{ added: boolean }>(text, [task, due])).rows[0]?.added;
  };
  const finish = () => query("delete from graphile_worker._private_jobs");

  it("make it no second time where the job was done long before the latest clock struck", async () => {
    expect(await addDue("audit.late", "0 minutes")).toBe(true);
    await finish();
    // A clock that is 59 seconds behind comes to the same minute by and by.
    expect(await addDue("audit.late", "59 seconds")).toBe(false);
    await finish();
    expect(await addDue("audit.late", "0 minutes")).toBe(false);
    expect(await addDue("audit.late", "1 minute")).toBe(true);
    expect(await addDue("audit.early", "0 minutes")).toBe(true);
    await finish();
  });

  it("make one job when they strike at the same moment: the second waits for the first and adds none", async () => {
    const added = await withHolder(scene.ownerUrl, async (holder) => {
      await holder.query("select add_due_task('audit.both', date_trunc('minute', now()), 3, null)");
      return holder.commitBehind(() => addDue("audit.both", "0 minutes"));
    });
    expect(added).toBe(false);
  });

  it("leave nothing behind for long: what is two days old goes with the next one", async () => {
    await query(
      "insert into schedule_occurrences values ('audit.old', date_trunc('minute', now()) - interval '3 days')",
    );
    await addDue("audit.old", "0 minutes");
    const kept = await query("select from schedule_occurrences where task = 'audit.old'");
    expect(kept).toHaveLength(1);
    await finish();
  });

  it("a clock that is more than a day off is refused", async () => {
    await expect(addDue("audit.far", "2 days")).rejects.toThrow(/more than a day off/);
  });
});

describe("replicas that start together", () => {
  it("seed one after the other", async () => {
    const called: string[] = [];
    const broker = {
      services: ["tenants", "users", "auth"].map((name) => ({ name })),
      call: async (name: string) => {
        called.push(name);
        return { id: 1, created: false, replaced: false };
      },
    };
    const config = { demoMode: false, adminEmail: "admin@platform.example", adminPassword: "-" };
    const runtime = { database, config, demoPasswords: { current: "-", former: [] } };
    await withHolder(scene.ownerUrl, async (holder) => {
      // Another one is seeding.
      await holder.query("select pg_advisory_xact_lock(hashtext('start.seed'))");
      // Of both, what seeding uses.
      const seeding = seed(broker as unknown as ServiceBroker, runtime as unknown as Runtime);
      await holder.awaited();
      expect(called).toEqual([]);
      await holder.commit();
      await seeding;
    });
    expect(called).toEqual(["tenants.bootstrap", "users.bootstrap"]);
  });
});
