// What somebody who holds the database login of one kind of process can do with it, by hand: each attack in the scope of a
// tenant and in the platform's, as each login. It succeeds where the services of that kind do the same themselves, and
// nowhere else. docs/security.md says what that comes to.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { defaultLogins, everyRoleOf } from "../../../host/database/logins.ts";
import { provision } from "../../../host/database/provision.ts";
import { type Filled, fillTenant, openScene, type Scene } from "../tenancy/scene.ts";
import { testSettings } from "../../support/service.ts";

type Kind = "accounts" | "crypto" | "support" | "outbound" | "backups";
const kinds: readonly Kind[] = ["accounts", "crypto", "support", "outbound", "backups"];
const refused = "42501";

let scene: Scene;
let ours: Filled;
const raw = new Map<Kind, pg.Client>();

beforeAll(async () => {
  scene = await openScene(2);
  ours = await fillTenant(scene.owner, "ours");
  const { url } = scene.database;
  const provisioned = await provision({
    ownerUrl: url,
    bootSecret: testSettings(scene.database)["BOOT_SECRET"] ?? "",
  });
  for (const kind of kinds) {
    const { services } = defaultLogins.find((login) => login.kind === kind) ?? { services: [] };
    const client = new pg.Client({ connectionString: provisioned.urlFor(services) });
    await client.connect();
    raw.set(kind, client);
  }
});
afterAll(async () => {
  for (const client of raw.values()) await client.end();
  await scene.stop();
});

const scopes = {
  tenant: "select set_config('app.tenant_id', $1, true)",
  platform: "select set_config('role', session_user || '_platform', true), $1::text",
} as const;
type Scope = keyof typeof scopes;

/** @returns "done", or the code it was refused with; nothing of it stays */
async function attempt(kind: Kind, scope: Scope, statement: string): Promise<string> {
  const client = raw.get(kind);
  if (client === undefined) throw new Error(`no client for ${kind}`);
  await client.query("begin");
  try {
    await client.query(scopes[scope], [String(ours.tenantId)]);
    await client.query(
      statement.replaceAll("$tenant", String(ours.tenantId)).replaceAll("$user", String(ours.doctorId)),
    );
    return "done";
  } catch (error) {
    return (error as { code?: string }).code ?? "?";
  } finally {
    await client.query("rollback");
  }
}

const entry = (action: string, outcome = "ok") =>
  `insert into audit_entries (tenant_id, action, outcome, changes) values ($tenant, '${action}', '${outcome}', '{}')`;
const reading = (action: string) =>
  `select append_entries($tenant, null, array[$user], array['${action}'], array['patient'], array['1'], array['ok'],
     array['{}'::json], array[null], array[null], array[null])`;
const event = (kind: string) =>
  `insert into events (tenant_id, kind, payload) values ($tenant, '${kind}', '{}')`;
const task = (name: string) => `select add_task('${name}', '{}')`;

/** By what is done: who may, and where. */
const attacks: readonly [what: string, statement: string, may: Partial<Record<Kind, readonly Scope[]>>][] = [
  [
    "reads password hashes",
    "select password_hash from users",
    { accounts: ["platform"], backups: ["tenant", "platform"] },
  ],
  ["reads whole users", "select * from users", { accounts: ["platform"], backups: ["tenant", "platform"] }],
  [
    "reads names and addresses",
    "select email, full_name from users",
    { accounts: ["tenant", "platform"], backups: ["tenant", "platform"] },
  ],
  [
    "sets a password",
    "update users set password_hash = '-' where id = $user",
    { accounts: ["tenant", "platform"] },
  ],
  [
    "makes somebody an administrator",
    "update users set role = 'admin' where id = $user",
    { accounts: ["tenant", "platform"] },
  ],
  [
    "makes a user",
    `insert into users (tenant_id, email, full_name, role, approved_at, password_hash)
     values ($tenant, 'thief@people.example', 'A Thief', 'nurse', now(), '-')`,
    { accounts: ["tenant", "platform"] },
  ],
  ["deletes users", "delete from users", { accounts: ["platform"] }],
  [
    "plants a reset",
    `insert into mail_tokens (tenant_id, user_id, kind, token_hash, expires_at)
     values ($tenant, $user, 'reset_password', sha256('-'), now() + interval '1 day')`,
    { accounts: ["platform"] },
  ],
  ["reads mail tokens' hashes", "select token_hash from mail_tokens", { accounts: ["platform"] }],
  [
    "opens a session",
    `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at)
     values (gen_random_uuid(), $tenant, $user, 0, 0, now() + interval '1 day')`,
    { accounts: ["platform"] },
  ],
  ["reads who is signed in", "select ip from sessions", { accounts: ["platform"] }],
  ["lets guesses be forgotten", "delete from lockouts", { accounts: ["platform"] }],
  [
    "switches a tenant off",
    "update tenants set is_active = false where id = $tenant",
    { accounts: ["platform"] },
  ],
  [
    "reads tenants' settings",
    "select settings from tenants",
    { accounts: ["tenant", "platform"], backups: ["tenant", "platform"] },
  ],
  [
    "reads sealed patients",
    "select identity from patients",
    { support: ["tenant", "platform"], crypto: ["platform"], backups: ["tenant", "platform"] },
  ],
  [
    "replaces sealed patients",
    "update patients set identity = '-'",
    { support: ["tenant"], crypto: ["platform"] },
  ],
  ["deletes patients", "delete from patients", { support: ["platform"] }],
  ["reads keys", "select wrapped from master_keys", { crypto: ["platform"], backups: ["platform"] }],
  ["reads tenants' keys", "select wrapped from data_keys", { crypto: ["platform"], backups: ["platform"] }],
  ["destroys keys", "update data_keys set state = 'destroyed', wrapped = null", { crypto: ["platform"] }],
  [
    "reads webhooks' secrets",
    "select secret from webhooks",
    { outbound: ["tenant", "platform"], crypto: ["platform"], backups: ["platform"] },
  ],
  [
    "points a webhook elsewhere",
    "update webhooks set url = 'https://thief.example/'",
    { outbound: ["tenant"] },
  ],
  [
    "reads what webhooks are sent",
    "select payload from deliveries",
    { outbound: ["tenant", "platform"], backups: ["platform"] },
  ],
  [
    "reads chats",
    "select chat_id from messenger_links",
    { outbound: ["tenant", "platform"], backups: ["platform"] },
  ],
  ["takes over the bot", "delete from messenger_codes", { outbound: ["platform"] }],
  [
    "reads payments",
    "select amount from payments",
    { support: ["tenant", "platform"], backups: ["platform"] },
  ],
  [
    "makes a payment succeed",
    "update payments set status = 'succeeded', succeeded_at = now(), occurred_at = now(), newest_at = now(), version = version + 1",
    { support: ["platform"] },
  ],
  [
    "reads the log",
    "select changes from audit_entries",
    { support: ["tenant", "platform"], backups: ["platform"] },
  ],
  ["alters the log", "update audit_entries set action = 'user.forged'", {}],
  ["empties the log", "truncate audit_entries", {}],
  ["moves the log's head", "update audit_heads set seq = 0", {}],
  [
    "chooses an entry's number",
    "insert into audit_entries (tenant_id, seq, action, outcome) values ($tenant, 1, 'user.block', 'ok')",
    {},
  ],
  ["forges entries of users", entry("user.block"), { accounts: ["tenant", "platform"] }],
  ["forges entries of signing in", entry("auth.login"), { accounts: ["tenant", "platform"] }],
  ["forges entries of readings", entry("patient.read"), { support: ["tenant", "platform"] }],
  ["forges readings in batches", reading("patient.read"), { support: ["tenant"] }],
  ["forges other entries in batches", reading("user.block"), {}],
  ["forges entries of payments", entry("payment.update"), { support: ["tenant", "platform"] }],
  ["forges entries of keys", entry("encryption.rotate"), { crypto: ["platform"] }],
  ["forges entries of webhooks", entry("webhook.delete"), { outbound: ["tenant", "platform"] }],
  [
    "forges refusals",
    entry("tenant.delete", "denied"),
    { accounts: ["tenant", "platform"], support: ["tenant", "platform"] },
  ],
  ["forges the database's own entries", entry("trace.altered"), {}],
  ["tells of payments", event("payment.succeeded"), { support: ["tenant", "platform"] }],
  ["tells of users", event("user.deleted"), { accounts: ["tenant", "platform"] }],
  ["tells of what is no kind", event("user.forged"), {}],
  ["fills the queue of events by hand", "insert into fan_out_queue values ($tenant, 1)", {}],
  [
    "adds a mail",
    task("mail.reset_password"),
    { accounts: ["tenant", "platform"], support: ["tenant", "platform"] },
  ],
  ["adds a purge", task("users.purge"), { accounts: ["tenant", "platform"] }],
  ["adds a word in a chat", task("messenger.reply"), { outbound: ["tenant", "platform"] }],
  ["adds an unknown task", task("thief.reply"), {}],
  [
    "takes the place of another's job",
    "select add_task('webhooks.cancel', job_key := 'users.purge:2026-01-01')",
    {},
  ],
  ["puts a job into the queue by hand", "insert into graphile_worker._private_jobs (task_id) values (1)", {}],
  ["enlarges its own rights", "update database_logins set audits = '{user,patient}'", {}],
  [
    "counts its rates anew",
    "delete from rate_limits",
    { accounts: ["tenant", "platform"], support: ["tenant"], outbound: ["tenant"] },
  ],
  ["makes a table", "create table thief (id integer)", {}],
  ["makes a temporary table", "create temporary table users (id integer)", {}],
  ["makes a function", "create function thief() returns integer language sql return 1", {}],
  ["reads passwords of logins", "select rolpassword from pg_authid", {}],
  ["runs as another", "set session authorization postgres", {}],
  ["switches triggers off", "set session_replication_role = replica", {}],
  ["reads the server's files", "select pg_read_file('PG_VERSION')", {}],
  ["runs a program", "copy (select 1) to program 'true'", {}],
];

describe.each(kinds)("the login of %s", (kind) => {
  it.each(attacks)("%s: only where its services do", async (_what, statement, may) => {
    for (const scope of ["tenant", "platform"] as const) {
      const found = await attempt(kind, scope, statement);
      expect([scope, found]).toEqual([scope, may[kind]?.includes(scope) === true ? "done" : refused]);
    }
  });

  it("takes up no role but its own for the platform's scope", async () => {
    const { rows } = await scene.owner.query<{ role: string }>(
      "select rolname::text as role from pg_roles order by 1",
    );
    const own = everyRoleOf(`records_${kind}`).filter(
      (role) => kind === "backups" || !role.endsWith("_restore"),
    );
    expect(rows.map(({ role }) => role)).toEqual(
      expect.arrayContaining([...own, "records_platform", "records_login"]),
    );
    for (const { role } of rows)
      expect([role, await attempt(kind, "tenant", `set role "${role}"`)]).toEqual([
        role,
        own.includes(role) ? "done" : refused,
      ]);
  });

  it("sees and takes no jobs but those of its services' tasks", async () => {
    const all = [
      "auth.sweep",
      "backups.work",
      "mail.verify_email",
      "messenger.reply",
      "patients.purge",
      "webhooks.sweep",
    ];
    for (const name of all) await scene.owner.query("select graphile_worker.add_job($1)", [name]);
    try {
      const { services = [] } = defaultLogins.find((login) => login.kind === kind) ?? {};
      const own = all.filter((name) => services.includes(name.split(".")[0] ?? ""));
      const client = raw.get(kind);
      const ofJobs = (statement: string) =>
        client?.query(`with j as (${statement} returning task_id) select t.identifier from j
          join graphile_worker._private_tasks t on t.id = j.task_id order by 1`);
      if (own.length === 0) {
        for (const statement of [
          "select from graphile_worker._private_jobs",
          "delete from graphile_worker._private_jobs",
        ])
          expect(await attempt(kind, "tenant", statement)).toBe(refused);
        return;
      }
      await client?.query("begin");
      const held = await ofJobs(
        "update graphile_worker._private_jobs set locked_at = now(), locked_by = 'thief'",
      );
      const gone = await ofJobs("delete from graphile_worker._private_jobs");
      await client?.query("rollback");
      for (const found of [held, gone]) expect(found?.rows.map((row) => row.identifier)).toEqual(own);
    } finally {
      await scene.owner.query("delete from graphile_worker._private_jobs");
    }
  });
});

describe("what a restore may, as the login of backups", () => {
  const restoring = async (statement: string) => {
    const client = raw.get("backups");
    await client?.query("begin");
    try {
      await client?.query("select set_config('app.tenant_id', $1, true)", [String(ours.tenantId)]);
      await client?.query("select set_config('role', session_user || '_restore', true)");
      const done = await client?.query(
        statement.replaceAll("$tenant", String(ours.tenantId)).replaceAll("$user", String(ours.doctorId)),
      );
      return done?.rowCount;
    } catch (error) {
      return (error as { code?: string }).code;
    } finally {
      await client?.query("rollback");
    }
  };
  it.each([
    ["writes users", "update users set full_name = 'Restored' where id = $user", 1],
    ["writes sealed patients", "update patients set identity = '-'", 1],
    [
      "writes no other tenant's users",
      "update users set full_name = 'Restored' where tenant_id <> $tenant",
      0,
    ],
    ["plants no reset", "insert into mail_tokens (tenant_id) values ($tenant)", refused],
    ["opens no session", "insert into sessions (tenant_id) values ($tenant)", refused],
    ["reads no keys", "select wrapped from master_keys", refused],
    ["writes no entry", entry("restore.finish"), refused],
    ["alters no log", "update audit_entries set action = 'user.forged'", refused],
    ["deletes no user", "delete from users", refused],
  ])("%s", async (_what, statement, outcome) => {
    expect(await restoring(statement)).toBe(outcome);
  });
});
