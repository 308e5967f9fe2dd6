// Whoever changes a user or a tenant leaves an entry in the log: the database writes one where the service did not.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { makeUnfinished, verifyLog } from "../../../services/audit/verify-audit.ts";
import { provision } from "../../../host/database/provision.ts";
import { testSettings } from "../../support/service.ts";
import { type Filled, fillTenant, openScene, type Scene } from "../tenancy/scene.ts";

let scene: Scene;
let thief: pg.Client;
let made = 0;
let ours: Filled;

beforeAll(async () => {
  scene = await openScene(2);
  const bootSecret = testSettings(scene.database)["BOOT_SECRET"] ?? "";
  const provisioned = await provision({ ownerUrl: scene.database.url, bootSecret });
  thief = new pg.Client({ connectionString: provisioned.urlFor(["auth", "tenants", "users"]) });
  await thief.connect();
});
beforeEach(async () => {
  ours = await fillTenant(scene.owner, `clinic${++made}`);
});
afterAll(async () => {
  await thief.end();
  await scene.stop();
});

/** The entries that `work` leaves in our tenant's log. */
async function left(work: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const head = "select coalesce(max(seq), 0) as seq from audit_entries where tenant_id = $1";
  const { rows: before } = await scene.owner.query(head, [ours.tenantId]);
  await work();
  const { rows } = await scene.owner.query(
    `select action, target_type, target_id, user_id, outcome, changes from audit_entries
     where tenant_id = $1 and seq > $2 order by seq`,
    [ours.tenantId, before[0].seq],
  );
  return rows;
}

const altered = (kind: "user" | "tenant", id: number, changes: Record<string, unknown>) => ({
  action: `${kind}.altered`,
  target_type: kind,
  target_id: String(id),
  user_id: null,
  outcome: "ok",
  changes,
});

async function inTransaction(client: pg.Client, ...statements: string[]): Promise<void> {
  await client.query("begin");
  try {
    for (const statement of statements) await client.query(named(statement));
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}
const named = (statement: string) =>
  statement
    .replaceAll("$tenant", String(ours.tenantId))
    .replaceAll("$user", String(ours.doctorId))
    .replaceAll("$department", String(ours.departmentId));
const byOwner = (...statements: string[]) => inTransaction(scene.owner, ...statements);
const scoped = "select set_config('app.tenant_id', '$tenant', true)";
const above = "select set_config('role', session_user || '_platform', true)";
const setHash = "update users set password_hash = 'planted' where id = $user";
const entryOf = (id: string, action = "user.reset_password") =>
  `insert into audit_entries (tenant_id, action, target_type, target_id, outcome)
   values ($tenant, '${action}', 'user', '${id}', 'ok')`;

describe("a change of a user without an entry", () => {
  it("by the owner's own hand", async () => {
    expect(
      await left(() => byOwner("update users set role = 'admin', is_active = false where id = $user")),
    ).toEqual([
      altered("user", ours.doctorId, {
        columns: ["is_active", "role"],
        login: "postgres",
        operation: "update",
      }),
    ]);
  });

  it.each([
    ["a tenant's", scoped],
    ["the platform's", above],
  ])("by a stolen login, in %s scope, and the log stays whole", async (_whose, scope) => {
    expect(await left(() => inTransaction(thief, scope, setHash))).toEqual([
      altered("user", ours.doctorId, {
        columns: ["password_hash"],
        login: "records_accounts",
        operation: "update",
      }),
    ]);
    const verdict = await verifyLog(scene.connected.database, ours.tenantId, makeUnfinished(), 10_000);
    expect(verdict).toMatchObject({ ok: true, first_bad_seq: null });
  });

  it("by a statement of its own, without a transaction around it", async () => {
    expect(await left(() => scene.owner.query(named(setHash)))).toHaveLength(1);
  });

  it("names each of several changes, also behind a harmless one", async () => {
    const harmless = "update users set updated_at = now() + interval '1 s' where id = $user";
    const entries = await left(() => inTransaction(thief, scoped, harmless, setHash));
    expect(entries.map(({ changes }) => changes)).toEqual([
      { columns: ["updated_at"], login: "records_accounts", operation: "update" },
      { columns: ["password_hash"], login: "records_accounts", operation: "update" },
    ]);
  });

  it("of a thousand at once costs each the same, and all are named", async () => {
    const many = 1_000;
    await scene.owner.query(
      `insert into users (tenant_id, email, full_name, role, approved_at, password_hash)
       select $1, 'n' || n || '@people.example', 'N', 'nurse', now(), '-' from generate_series(1, $2) n`,
      [ours.tenantId, many],
    );
    const entries = await left(() => byOwner("update users set role = 'admin' where tenant_id = $tenant"));
    expect(new Set(entries.map((entry) => entry["target_id"])).size).toBe(many + 1);
  });

  it("that is checked early on purpose", async () => {
    const early = await left(() => inTransaction(thief, scoped, "set constraints all immediate", setHash));
    expect(early).toHaveLength(1);
  });

  it("a new one, and one that is gone", async () => {
    let id = 0;
    const entries = await left(async () => {
      const { rows } = await scene.owner.query(
        `insert into users (tenant_id, email, full_name, role, approved_at, password_hash)
         values ($1, 'new@people.example', 'New', 'nurse', now(), '-') returning id`,
        [ours.tenantId],
      );
      id = rows[0].id;
      await scene.owner.query("delete from users where id = $1", [id]);
    });
    expect(entries).toEqual([
      altered("user", id, { columns: [], login: "postgres", operation: "insert" }),
      altered("user", id, { columns: [], login: "postgres", operation: "delete" }),
    ]);
  });

  it("whose department was taken from under it", async () => {
    const entries = await left(() => byOwner("delete from departments where id = $department"));
    expect(entries).toEqual([
      altered("user", ours.doctorId, { columns: ["department_id"], login: "postgres", operation: "update" }),
    ]);
  });

  it.each([
    ["an entry about another user", () => entryOf("999999")],
    [
      "an entry about a thing of the same number",
      () => entryOf("$user").replace("'user', '", "'department', '"),
    ],
  ])("beside %s", async (_what, other) => {
    const entries = await left(() => inTransaction(thief, scoped, setHash, other()));
    expect(entries.map(({ action }) => action)).toEqual(["user.reset_password", "user.altered"]);
  });

  it.each([
    ["of another kind about this very user", () => entryOf("$user", "auth.login")],
    ["about the user's preferences", () => entryOf("$user", "preferences.update")],
    ["that says that it was refused", () => entryOf("$user").replace("'ok'", "'denied'")],
    ["that says that it failed", () => entryOf("$user").replace("'ok'", "'error'")],
  ])("is not hidden by an entry %s", async (_what, other) => {
    const entries = await left(() => inTransaction(thief, scoped, setHash, other()));
    expect(entries.map(({ action }) => action).at(-1)).toBe("user.altered");
    expect(entries).toHaveLength(2);
  });

  it("after an entry of an earlier transaction", async () => {
    await inTransaction(thief, scoped, entryOf("$user"));
    expect(await left(() => inTransaction(thief, scoped, setHash))).toHaveLength(1);
  });
});

describe("a change of a tenant without an entry", () => {
  it("names the columns, and nothing of what is in them", async () => {
    const change = `update tenants set name = 'Taken', settings = '{"secret":1}' where id = $tenant`;
    expect(await left(() => inTransaction(thief, scoped, change))).toEqual([
      altered("tenant", ours.tenantId, {
        columns: ["name", "settings"],
        login: "records_accounts",
        operation: "update",
      }),
    ]);
  });

  it("that comes to nothing is none", async () => {
    expect(await left(() => byOwner("update tenants set name = name where id = $tenant"))).toEqual([]);
  });

  it("that is gone with all its users is one entry", async () => {
    const gone = ["patient_records", "patients", "tenants"].map(
      (table) => `delete from ${table} where ${table === "tenants" ? "id" : "tenant_id"} = $tenant`,
    );
    const entries = await left(() => byOwner(...gone));
    expect(entries).toEqual([
      altered("tenant", ours.tenantId, { columns: [], login: "postgres", operation: "delete" }),
    ]);
  });

  it("a new one", async () => {
    const { rows } = await scene.owner.query(
      "insert into tenants (name, subdomain) values ('New', 'brand-new') returning id",
    );
    ours = { ...ours, tenantId: rows[0].id };
    const { rows: entries } = await scene.owner.query(
      "select action, changes from audit_entries where tenant_id = $1",
      [rows[0].id],
    );
    expect(entries).toEqual([
      { action: "tenant.altered", changes: { columns: [], login: "postgres", operation: "insert" } },
    ]);
  });
});

describe("nothing is added", () => {
  it.each([
    ["before the change", [entryOf("$user"), setHash]],
    ["after the change", [setHash, entryOf("$user")]],
  ])("where the entry was written %s", async (_when, statements) => {
    const entries = await left(() => inTransaction(thief, scoped, ...statements));
    expect(entries.map(({ action }) => action)).toEqual(["user.reset_password"]);
  });

  it("where many entries of the same transaction came after it", async () => {
    const many = `insert into audit_entries (tenant_id, action, target_type, target_id, outcome)
      select $tenant, 'user.purge', 'user', n::text, 'ok' from generate_series(1000000, 1000199) n`;
    const entries = await left(() => inTransaction(thief, scoped, entryOf("$user"), setHash, many));
    expect(entries).toHaveLength(201);
  });

  it("by an update that leaves all as it was", async () => {
    expect(await left(() => byOwner("update users set role = role where id = $user"))).toEqual([]);
  });

  it("where a deleted user's department goes", async () => {
    await byOwner("update users set deleted_at = now() where id = $user");
    expect(await left(() => byOwner("delete from departments where id = $department"))).toEqual([]);
  });

  it("by a transaction that is taken back", async () => {
    const entries = await left(() =>
      inTransaction(thief, scoped, setHash, "select 1 / 0").catch(() => undefined),
    );
    expect(entries).toEqual([]);
  });
});
