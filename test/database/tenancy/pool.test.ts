// One pool for all tenants: 10,000 reads and changes of 50 tenants with aborts of every sort in between never show or
// touch a foreign row, and leave the pool as it was.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Caller } from "../../../services/shared/caller.ts";
import { eventually } from "../../support/service.ts";
import { Dice } from "../../contract/walk/hostile.ts";
import { inParallel } from "../../contract/walk/wire.ts";
import { type Filled, fillTenant, openScene, type Scene } from "./scene.ts";

const tenants = 50;
const works = 10_000;
const width = 32;
const poolMax = 8;

let scene: Scene;
const filled: Filled[] = [];

beforeAll(async () => {
  scene = await openScene(poolMax);
  for (let i = 0; i < tenants; i++) filled.push(await fillTenant(scene.owner, `tenant-${i}`));
});
afterAll(() => scene.stop());

class Abort extends Error {}

describe("10,000 works of 50 tenants through one pool", () => {
  const caller = Caller.system("test");
  const bled: string[] = [];
  const done: Record<string, number> = {};
  const renamed = new Map<number, number>();

  const see = (own: number, rows: readonly { tenant_id: number }[]) => {
    if (rows.length === 0 || rows.some(({ tenant_id }) => tenant_id !== own))
      bled.push(`${own}: ${JSON.stringify(rows)}`);
  };
  const all = "select distinct tenant_id from users";

  async function read(own: Filled): Promise<void> {
    see(
      own.tenantId,
      await scene.connected.database.read({ tenantId: own.tenantId }, { text: all, values: [] }),
    );
  }
  async function readWrong({ tenantId }: Filled, text: string): Promise<void> {
    await scene.connected.database.read({ tenantId }, { text, values: [] });
  }
  async function edit(own: Filled, abort: "none" | "throws" | "statement" | "division"): Promise<void> {
    const { tenantId, doctorId } = own;
    await scene.connected.database.change({ tenantId }, caller, async (change) => {
      see(tenantId, await change.execute<{ tenant_id: number }>(all));
      const hit = await change.execute<{ tenant_id: number }>(
        "update users set session_epoch = session_epoch + 1 where role = 'doctor' returning tenant_id",
      );
      see(tenantId, hit);
      if (abort === "throws") throw new Abort();
      if (abort === "statement") await change.execute("select from nowhere");
      if (abort === "division")
        await change.execute("select 1 / ($1::integer - $2::integer)", [doctorId, doctorId]);
      change.audit({ tenantId, action: "user.update" });
    });
    renamed.set(tenantId, (renamed.get(tenantId) ?? 0) + 1);
  }
  /** The connection is taken away under the transaction. */
  async function killed({ tenantId }: Filled): Promise<void> {
    await scene.connected.database.change({ tenantId }, caller, async (change) => {
      await change.execute("select pg_terminate_backend(pg_backend_pid())");
    });
  }

  const kinds: [name: string, share: number, work: (own: Filled) => Promise<void>][] = [
    ["read", 0.55, read],
    ["change", 0.2, (own) => edit(own, "none")],
    ["throws", 0.1, (own) => edit(own, "throws")],
    ["statement", 0.05, (own) => edit(own, "statement")],
    ["division", 0.04, (own) => edit(own, "division")],
    ["wrong read", 0.03, (own) => readWrong(own, "select from nowhere")],
    ["late fault", 0.029, (own) => readWrong(own, "select 1 / (id - id) from users")],
    ["killed", 1, killed],
  ];

  it("show and touch no foreign row", async () => {
    const dice = new Dice(4711);
    const drawn = Array.from({ length: works }, () => {
      let at = dice.roll();
      const kind = kinds.find(([, share]) => (at -= share) < 0);
      if (kind === undefined) throw new Error("the shares reach to the end");
      return { name: kind[0], work: kind[2], own: dice.pick(filled) };
    });
    const unexpected: string[] = [];
    await inParallel(drawn, width, async ({ name, work, own }) => {
      const outcome = await work(own).then(
        () => "done",
        () => "failed",
      );
      const key = `${name} ${outcome}`;
      done[key] = (done[key] ?? 0) + 1;
      if ((outcome === "done") !== (name === "read" || name === "change")) unexpected.push(key);
    });
    expect(bled).toEqual([]);
    expect(unexpected).toEqual([]);
    expect(Object.values(done).reduce((sum, each) => sum + each, 0)).toBe(works);
    expect(Object.keys(done)).toHaveLength(kinds.length);
  });

  it("commit exactly what was not aborted, in every tenant's own rows and log", async () => {
    for (const { tenantId, doctorId } of filled) {
      const { rows } = await scene.owner.query(
        `select (select session_epoch from users where id = $2) as changes,
           (select count(*)::integer from audit_entries where tenant_id = $1 and action = 'user.update') as entries`,
        [tenantId, doctorId],
      );
      const committed = renamed.get(tenantId) ?? 0;
      expect(rows).toEqual([{ changes: committed, entries: committed }]);
    }
  });

  it("leave the pool full, with no transaction open and no tenant set", async () => {
    const { pool } = scene.connected.database;
    await eventually(async () => pool.idleCount === pool.totalCount && pool.waitingCount === 0);
    expect(pool.totalCount).toBeGreaterThan(0);
    const { rows } = await scene.owner.query(
      "select state, count(*)::integer as connections from pg_stat_activity where usename = 'records_login' group by state",
    );
    expect(rows).toEqual([{ state: "idle", connections: pool.totalCount }]);
    const clients = await Promise.all(Array.from({ length: poolMax }, () => pool.connect()));
    for (const client of clients) {
      const seen = await client.query(
        "select current_user as who, current_setting('app.tenant_id', true) as tenant, (select count(*)::integer from users) as rows",
      );
      expect(seen.rows[0]).toMatchObject({ who: "records_login", rows: 0 });
      expect(["", null]).toContain(seen.rows[0].tenant);
      client.release();
    }
  });
});

describe("the program", () => {
  const root = join(import.meta.dirname, "../../..");
  const files = ["services", "mixins", "host", "operators"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => join(folder, file)),
  );

  it.each([
    [
      "getKysely, which forgets the session outside a transaction",
      /getKysely|\.getConnection\(\)\.execute/,
      [],
    ],
    ["filters switched off", /filters: *false|disableFilters/, []],
    [
      "the pool itself, but for tables without tenant rows",
      /database\.pool\b|db\.pool\b/,
      [
        "mixins/jobs/job-metrics.ts",
        "mixins/jobs/job-runner.ts",
        "mixins/jobs/jobs.ts",
        "services/health/health.service.ts",
        "mixins/healing/job-faults.ts",
        "mixins/healing/session-faults.ts",
        "mixins/jobs/job-list.ts",
        "services/shared/rate-limits.ts",
      ],
    ],
  ])("nowhere uses %s", (_what, pattern, allowed) => {
    expect(files.length).toBeGreaterThan(50);
    const users = files.filter((file) => pattern.test(readFileSync(join(root, file), "utf8")));
    expect(users.filter((file) => !allowed.includes(file))).toEqual([]);
  });
});
