// Rules the database keeps by itself, whatever the program forgets: statements that would break one, each refused. Run
// as the services' login in a tenant's scope, in the platform's scope (which sees all tenants), or as the owner.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { type Filled, fillTenant, openScene, type Scene } from "./scene.ts";

let scene: Scene;
let ours: Filled;
let theirs: Filled;
let platformId: number;
let login: pg.Client;

beforeAll(async () => {
  scene = await openScene(2);
  ours = await fillTenant(scene.owner, "ours");
  theirs = await fillTenant(scene.owner, "theirs");
  const { rows } = await scene.owner.query(
    "insert into tenants (name, subdomain) values ('Platform', 'platform') returning id",
  );
  platformId = rows[0].id;
  login = new pg.Client({ connectionString: scene.appUrl });
  await login.connect();
});
afterAll(async () => {
  await login.end();
  await scene.stop();
});

type As = "tenant" | "platform" | "owner";
type Code = string;

// https://www.postgresql.org/docs/18/errcodes-appendix.html
const foreignKey = "23503";
const unique = "23505";
const check = "23514";
const notNull = "23502";
/** Missing privilege, a policy's check, and our own triggers alike. */
const forbidden = "42501";
const generated = "428C9";

/** `:name` are ids of the scene; an id after `their` is another tenant's. */
const user = (fields: string) =>
  `insert into users (tenant_id, email, full_name, role, approved_at, password_hash, department_id) values (${fields})`;
const session = (fields: string) =>
  `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at) values (gen_random_uuid(), ${fields}, 0, 0, now())`;

const patient = (fields: string) =>
  `insert into patients (tenant_id, department_id, record_number, identity, full_name_index) values (${fields}, '-', sha256('-'))`;
const payment = (fields: string) =>
  `insert into payments (tenant_id, payment_id, status, provider, amount, currency, occurred_at, pending_at, newest_at,
     newest_id, version) values (${fields}, 'card', '1', 'EUR', now(), now(), now(), 'n', 1)`;
const record = (fields: string) =>
  `insert into patient_records (tenant_id, patient_id, author_id, kind, body) values (${fields}, 'visit', '-')`;

const webhookTarget = (fields: string) =>
  `insert into delivery_targets (tenant_id, channel, events) values (${fields})`;
const link = (fields: string) =>
  `insert into messenger_links (id, tenant_id, user_id, chat_id, display_name) select t.id, ${fields}, 'N'
   from delivery_targets t where t.tenant_id = :our and t.channel = 'webhook'`;
const delivery = (fields: string) =>
  `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at)
   select ${fields}, 'user.created', '{}', now(), now() from delivery_targets t where t.tenant_id = :our`;

const statements: [rule: string, as: As, sql: string, code: Code][] = [
  [
    "a user in a foreign department",
    "tenant",
    user(":our, 'n@b.example', 'N', 'nurse', now(), '-', :theirDepartment"),
    foreignKey,
  ],
  [
    "a user moved to a foreign department",
    "tenant",
    "update users set department_id = :theirDepartment where id = :ourDoctor",
    foreignKey,
  ],
  [
    "the same, done by the platform",
    "platform",
    "update users set department_id = :theirDepartment where id = :ourDoctor",
    foreignKey,
  ],
  [
    "a user of a tenant that is not",
    "platform",
    user("99999, 'n@b.example', 'N', 'nurse', now(), '-', null"),
    foreignKey,
  ],
  [
    "a user put into another tenant",
    "tenant",
    user(":their, 'n@b.example', 'N', 'nurse', now(), '-', null"),
    forbidden,
  ],
  [
    "a user pushed to another tenant",
    "tenant",
    "update users set tenant_id = :their, department_id = null where id = :ourDoctor",
    forbidden,
  ],
  [
    "a second live e-mail",
    "tenant",
    user(":our, 'doctor@people.example', 'N', 'nurse', now(), '-', null"),
    unique,
  ],
  [
    "a second live e-mail in capitals",
    "tenant",
    user(":our, 'DOCTOR@People.example', 'N', 'nurse', now(), '-', null"),
    unique,
  ],
  ["a role outside the list", "tenant", user(":our, 'n@b.example', 'N', 'root', now(), '-', null"), check],
  ["a role changed to none", "tenant", "update users set role = '' where id = :ourDoctor", check],
  [
    "an active user nobody approved",
    "tenant",
    "update users set approved_at = null where id = :ourDoctor",
    check,
  ],
  [
    "a user without a password",
    "tenant",
    "update users set password_hash = null where id = :ourDoctor",
    notNull,
  ],
  ["a user without a name", "tenant", "update users set full_name = '' where id = :ourDoctor", check],
  [
    "a name without an end",
    "tenant",
    "update users set full_name = repeat('x', 201) where id = :ourDoctor",
    check,
  ],
  [
    "an e-mail without an end",
    "tenant",
    "update users set email = repeat('x', 255) where id = :ourDoctor",
    check,
  ],
  [
    "a chosen id",
    "tenant",
    "insert into users (id, tenant_id, email, full_name, role, approved_at, password_hash) values (1, :our, 'n@b.example', 'N', 'nurse', now(), '-')",
    generated,
  ],
  [
    "a search text of one's own",
    "tenant",
    "update users set search_text = 'x' where id = :ourDoctor",
    generated,
  ],
  [
    "a foreign head doctor",
    "tenant",
    "update departments set head_doctor_id = :theirDoctor where id = :ourDepartment",
    foreignKey,
  ],
  [
    "the same, done by the platform",
    "platform",
    "update departments set head_doctor_id = :theirDoctor where id = :ourDepartment",
    foreignKey,
  ],
  [
    "a new department with a foreign head",
    "tenant",
    "insert into departments (tenant_id, name, head_doctor_id) values (:our, 'Unit', :theirDoctor)",
    foreignKey,
  ],
  [
    "a department in another tenant",
    "tenant",
    "insert into departments (tenant_id, name) values (:their, 'Unit')",
    forbidden,
  ],
  [
    "a department without a name",
    "tenant",
    "insert into departments (tenant_id, name) values (:our, '')",
    check,
  ],
  [
    "a department of no tenant",
    "tenant",
    "insert into departments (tenant_id, name) values (null, 'Unit')",
    forbidden,
  ],
  [
    "a tenant made by a tenant",
    "tenant",
    "insert into tenants (name, subdomain) values ('New', 'new')",
    forbidden,
  ],
  ["a tenant deleted by a tenant", "tenant", "delete from tenants where id = :our", forbidden],
  [
    "a second living subdomain",
    "platform",
    "insert into tenants (name, subdomain) values ('New', 'ours')",
    unique,
  ],
  ["a subdomain in capitals", "platform", "update tenants set subdomain = 'Ours' where id = :our", check],
  ["a subdomain that is none", "platform", "update tenants set subdomain = '-ours' where id = :our", check],
  [
    "the platform deactivated",
    "platform",
    "update tenants set is_active = false where id = :platform",
    check,
  ],
  ["the platform deleted", "platform", "update tenants set deleted_at = now() where id = :platform", check],
  [
    "a theme outside the list",
    "tenant",
    "update preferences set theme = 'pink' where user_id = :ourDoctor",
    check,
  ],
  [
    "preferences of a foreign user",
    "tenant",
    "insert into preferences (tenant_id, user_id, theme) values (:our, :theirDoctor, 'dark')",
    foreignKey,
  ],
  ["a session of a foreign user", "platform", session(":our, :theirDoctor"), foreignKey],
  ["a session in another tenant", "tenant", session(":their, :theirDoctor"), forbidden],
  [
    "a mail token that is not hashed",
    "platform",
    "update mail_tokens set token_hash = 'abc' where user_id = :ourDoctor",
    check,
  ],
  [
    "a mail token for a foreign user",
    "platform",
    "update mail_tokens set user_id = :theirDoctor where user_id = :ourDoctor",
    foreignKey,
  ],
  [
    "a mail token of a kind of its own",
    "platform",
    "update mail_tokens set kind = 'sign_in' where user_id = :ourDoctor",
    check,
  ],
  [
    "lock-outs of another tenant",
    "tenant",
    "insert into lockouts (tenant_id, account, state) values (:their, 'ghost:2', 'null')",
    forbidden,
  ],
  [
    "refusals moved to another tenant",
    "tenant",
    "update audit_repeats set tenant_id = :their, key = sha256('x')",
    forbidden,
  ],
  ["refusals that were repeated at no time", "tenant", "update audit_repeats set times = 1", check],
  ["a day's count without its incident", "tenant", "update daily_counts set taken = 11", check],
  [
    "a day's count of another tenant",
    "tenant",
    "update daily_counts set tenant_id = :their, kind = 'a.b'",
    forbidden,
  ],
  ["a day's count that is forgotten", "tenant", "delete from daily_counts", forbidden],
  [
    "a lock-out under what somebody typed",
    "platform",
    "insert into lockouts (tenant_id, account, state) values (:our, 'x@people.example', 'null')",
    check,
  ],
  [
    "an address known to a foreign user",
    "platform",
    "insert into known_origins (tenant_id, user_id, address) values (:our, :theirDoctor, '192.0.2.2')",
    foreignKey,
  ],
  [
    "the registration of a foreign user",
    "tenant",
    "insert into registrations (tenant_id, user_id) values (:our, :theirDoctor)",
    foreignKey,
  ],
  [
    "a fourth link of one account",
    "platform",
    "update mail_tokens set kind = 'reset_password', slot = 4 where user_id = :ourDoctor",
    check,
  ],
  [
    "a second link to verify an address",
    "platform",
    "update mail_tokens set slot = 2 where user_id = :ourDoctor",
    check,
  ],
  ["an audit entry changed", "tenant", "update audit_entries set outcome = 'ok'", forbidden],
  ["an audit entry deleted", "platform", "delete from audit_entries", forbidden],
  ["the audit log emptied", "platform", "truncate audit_entries", forbidden],
  ["an audit entry changed by the owner", "owner", "update audit_entries set outcome = 'denied'", forbidden],
  ["an audit entry deleted by the owner", "owner", "delete from audit_entries", forbidden],
  ["the audit log emptied by the owner", "owner", "truncate audit_entries", forbidden],
  ["the chain's head deleted by the owner", "owner", "delete from audit_heads", forbidden],
  ["the chain's heads emptied by the owner", "owner", "truncate audit_heads", forbidden],
  ["the chain's head moved", "platform", "update audit_heads set seq = 0", forbidden],
  ["a chain begun by hand", "tenant", "insert into audit_heads values (:our, 0, '')", forbidden],
  [
    "an audit entry in another tenant's log",
    "tenant",
    "insert into audit_entries (tenant_id, action, outcome) values (:their, 'user.create', 'ok')",
    forbidden,
  ],
  [
    "audit entries appended to another tenant's log",
    "tenant",
    `select append_entries(:their, null, '{null}', '{user.create}', '{null}', '{null}', '{ok}', '{"{}"}', '{null}', '{null}', '{null}')`,
    forbidden,
  ],
  [
    "audit entries of no known outcome appended",
    "tenant",
    `select append_entries(:our, null, '{null}', '{user.create}', '{null}', '{null}', '{fine}', '{"{}"}', '{null}', '{null}', '{null}')`,
    check,
  ],
  [
    "an audit entry of no known outcome",
    "tenant",
    "insert into audit_entries (tenant_id, action, outcome) values (:our, 'user.create', 'fine')",
    check,
  ],
  [
    "an audit entry of no known form",
    "owner",
    "insert into audit_entries (tenant_id, action, outcome) values (:our, 'Drop Users', 'ok')",
    check,
  ],
  ["an event changed", "platform", "update events set kind = 'user.deleted'", forbidden],
  [
    "an event in another tenant",
    "tenant",
    "insert into events (tenant_id, kind, payload) values (:their, 'user.created', '{}')",
    forbidden,
  ],
  ["events deleted by a tenant", "tenant", "delete from events", forbidden],
  ["a patient in a foreign department", "tenant", patient(":our, :theirDepartment, 'R-2'"), foreignKey],
  ["a patient put into another tenant", "tenant", patient(":their, null, 'R-2'"), forbidden],
  [
    "a patient pushed to another tenant",
    "tenant",
    "update patients set tenant_id = :their where id = :ourPatient",
    forbidden,
  ],
  ["a record number twice in a department", "tenant", patient(":our, :ourDepartment, 'r-1'"), unique],
  ["an empty record number", "tenant", patient(":our, null, ''"), check],
  ["a patient without an identity", "tenant", "update patients set identity = null", notNull],
  ["a name's index that is no hash", "tenant", "update patients set full_name_index = '-'", check],
  ["a phone number's index that is no hash", "tenant", "update patients set phone_index = '-'", check],
  ["a version before the first", "tenant", "update patients set version = 0", check],
  ["a patient deleted by a tenant", "tenant", "delete from patients", forbidden],
  ["a patient moved by the platform", "platform", "update patients set department_id = null", forbidden],
  [
    "a name's index changed by the platform",
    "platform",
    "update patients set full_name_index = sha256('x')",
    forbidden,
  ],
  ["a patient's version changed by the platform", "platform", "update patients set version = 2", forbidden],
  ["a record's kind changed by the platform", "platform", "update patient_records set kind = '-'", forbidden],
  ["a record of a foreign patient", "tenant", record(":our, :theirPatient, :ourDoctor"), foreignKey],
  ["a record by a foreign author", "tenant", record(":our, :ourPatient, :theirDoctor"), foreignKey],
  ["a record in another tenant", "tenant", record(":their, :theirPatient, null"), forbidden],
  ["a record changed", "tenant", "update patient_records set body = '-'", forbidden],
  ["a record deleted", "tenant", "delete from patient_records", forbidden],
  ["a payment made by a tenant", "tenant", payment(":our, 'q', 'pending'"), forbidden],
  ["a payment changed by a tenant", "tenant", "update payments set status = 'refunded'", forbidden],
  ["a payment deleted", "platform", "delete from payments", forbidden],
  ["a payment twice", "platform", payment(":our, 'p', 'pending'"), unique],
  ["a payment of a tenant that is not", "platform", payment("99999, 'q', 'pending'"), foreignKey],
  ["a payment in a status of its own", "platform", payment(":our, 'q', 'lost'"), check],
  ["a status that never occurred", "platform", "update payments set status = 'refunded'", check],
  ["an amount that is none", "platform", "update payments set amount = '1e3'", check],
  ["notifications read by a tenant", "tenant", "select from payment_notifications", forbidden],
  [
    "the same notification twice",
    "platform",
    "insert into payment_notifications select * from payment_notifications",
    unique,
  ],
  [
    "a notification that acted on nothing",
    "platform",
    "update payment_notifications set tenant_id = null",
    check,
  ],
  [
    "a notification without the hash of its body",
    "platform",
    "update payment_notifications set body_hash = '-'",
    check,
  ],
  ["a target in another tenant", "tenant", webhookTarget(":their, 'webhook', '{*}'"), forbidden],
  ["a target on no known channel", "tenant", webhookTarget(":our, 'pigeon', '{*}'"), check],
  ["a target of no events", "tenant", webhookTarget(":our, 'webhook', '{}'"), check],
  ["a target deleted by a tenant", "tenant", "delete from delivery_targets", forbidden],
  [
    "a webhook of a foreign target",
    "tenant",
    "insert into webhooks (tenant_id, id, url, secret) values (:our, 999999, 'https://a.example/', '-')",
    foreignKey,
  ],
  ["a webhook without a secret", "tenant", "update webhooks set secret = null", notNull],
  [
    "an earlier secret without an end",
    "tenant",
    "update webhooks set previous_secret = '-', previous_secret_until = null",
    check,
  ],
  ["a webhook disabled without a reason", "tenant", "update webhooks set disabled_at = now()", check],
  ["a chat that is active and told nothing", "tenant", webhookTarget(":our, 'messenger', '{}'"), check],
  ["a link of a foreign user", "platform", link(":our, :theirDoctor, 77"), foreignKey],
  ["a link in another tenant", "tenant", link(":their, :theirDoctor, 77"), forbidden],
  ["a link to a foreign target", "platform", link(":their, :theirDoctor, 77"), unique],
  ["a second link of a user", "platform", link(":our, :ourDoctor, 77"), unique],
  ["a link that ended without a reason", "platform", "update messenger_links set ended_at = now()", check],
  [
    "a chat of another tenant's user",
    "platform",
    "update messenger_links set chat_id = :their where tenant_id = :our",
    unique,
  ],
  ["codes read by a tenant", "tenant", "select from messenger_codes", forbidden],
  [
    "a code that is not hashed",
    "platform",
    "insert into messenger_codes values (1, 'BCDFGHJK', 'N', now())",
    check,
  ],
  ["updates read by a tenant", "tenant", "select from messenger_updates", forbidden],
  ["the bot's lease taken by a tenant", "tenant", "update messenger_bots set leased_by = null", forbidden],
  ["a bot forgotten", "platform", "delete from messenger_bots", forbidden],
  ["a delivery made by a tenant", "tenant", delivery(":our, t.id, 9, 9"), forbidden],
  ["a delivery to a foreign target", "platform", delivery(":their, t.id, 9, 9"), foreignKey],
  ["a second delivery of an event", "platform", delivery(":our, t.id, 1, 9"), unique],
  ["a delivery finished without a time", "platform", "update deliveries set state = 'succeeded'", check],
  ["a delivery's words changed by a tenant", "tenant", "update deliveries set payload = 'null'", forbidden],
  ["a delivery deleted by a tenant", "tenant", "delete from deliveries", forbidden],
  ["an attempt made up by a tenant", "tenant", "insert into delivery_attempts default values", forbidden],
  ["an attempt changed", "platform", "update delivery_attempts set error = null", forbidden],
  ["a queue read by a tenant", "tenant", "select from fan_out_queue", forbidden],
  [
    "a foreign event queued",
    "tenant",
    "insert into fan_out_queue (tenant_id, event_id) values (:their, 1)",
    forbidden,
  ],
  ["a key read by a tenant", "tenant", "select from data_keys", forbidden],
  ["a master key read by a tenant", "tenant", "select from master_keys", forbidden],
  [
    "a key made by a tenant",
    "tenant",
    "insert into data_keys (tenant_id, purpose, master_version, wrapped, state) values (:our, 'field', 1, '-', 'primary')",
    forbidden,
  ],
  ["a key deleted", "platform", "delete from data_keys", forbidden],
  ["a master key deleted", "platform", "delete from master_keys", forbidden],
  ["a key's bytes changed by a tenant", "tenant", "update data_keys set wrapped = '-'", forbidden],
  ["a key's tenant changed", "platform", "update data_keys set tenant_id = :their", forbidden],
  ["a master key's fingerprint changed", "platform", "update master_keys set fingerprint = '-'", forbidden],
  ["a rotation begun by a tenant", "tenant", "insert into rotations default values", forbidden],
  ["a rotation deleted", "platform", "delete from rotations", forbidden],
  ["a destroyed key that keeps its bytes", "platform", "update data_keys set state = 'destroyed'", check],
  [
    "a second primary master key",
    "platform",
    "insert into master_keys (version, wrapped, fingerprint, state) values (2, '-', sha256('x'), 'primary')",
    unique,
  ],
  [
    "a key under no master key",
    "platform",
    "insert into data_keys (tenant_id, purpose, master_version, wrapped, state) values (:our, 'field', 9, '-', 'decrypt_only')",
    foreignKey,
  ],
  ["users emptied", "platform", "truncate users cascade", forbidden],
  ["a table made", "tenant", "create table mine (id integer)", forbidden],
  ["row-level security switched off", "platform", "alter table users disable row level security", forbidden],
  ["a policy of one's own", "platform", "create policy mine on users using (true)", forbidden],
  ["a trigger switched off", "platform", "alter table audit_entries disable trigger immutable", forbidden],
  ["triggers switched off for the session", "platform", "set session_replication_role = replica", forbidden],
];

function filled(sql: string): string {
  const ids: Record<string, number> = {
    our: ours.tenantId,
    their: theirs.tenantId,
    ourDoctor: ours.doctorId,
    theirDoctor: theirs.doctorId,
    ourDepartment: ours.departmentId,
    theirDepartment: theirs.departmentId,
    ourPatient: ours.patientId,
    theirPatient: theirs.patientId,
    platform: platformId,
  };
  return sql.replaceAll(/:(\w+)/g, (_all, name: string) => String(ids[name]));
}

describe(`${statements.length} statements are refused`, () => {
  it.each(statements)("%s (%s)", async (_rule, as, sql, code) => {
    const client = as === "owner" ? scene.owner : login;
    await client.query("begin");
    try {
      if (as === "tenant")
        await client.query("select set_config('app.tenant_id', $1, true)", [String(ours.tenantId)]);
      if (as === "platform") await client.query("set local role records_login_platform");
      await expect(client.query(filled(sql))).rejects.toMatchObject({ code });
    } finally {
      await client.query("rollback");
    }
  });
});

it("an entry's number, links and time are the database's own, whatever the owner inserts", async () => {
  const { owner } = scene;
  const { rows: before } = await owner.query("select seq from audit_heads where tenant_id = $1", [
    ours.tenantId,
  ]);
  await owner.query("begin");
  const { rows } = await owner.query(
    `insert into audit_entries (tenant_id, seq, action, outcome, prev_hash, hash, created_at)
     values ($1, 77, 'user.create', 'ok', 'x', 'x', '2000-01-01')
     returning seq::integer, length(hash) as bytes, created_at > '2020-01-01' as now`,
    [ours.tenantId],
  );
  await owner.query("rollback");
  expect(rows).toEqual([{ seq: Number(before[0].seq) + 1, bytes: 32, now: true }]);
});
