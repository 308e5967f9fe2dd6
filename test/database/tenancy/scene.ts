// A provisioned database with some tenants in it, for tests of the wall beneath the services: no service runs here.
import pg from "pg";
import { connect, type Connected } from "../../../host/database/connect.ts";
import { provision } from "../../../host/database/provision.ts";
import { wrapMasterKey } from "../../../services/shared/sealing/wrapping.ts";
import { startDatabase, type TestDatabase, testSettings } from "../../support/service.ts";

export interface Scene {
  database: TestDatabase;
  /** As whom the services work. */
  appUrl: string;
  /** The owner, a superuser: sees everything. */
  owner: pg.Client;
  connected: Connected;
  stop(): Promise<void>;
}

export async function openScene(poolMax = 10): Promise<Scene> {
  const database = await startDatabase();
  const bootSecret = testSettings(database).BOOT_SECRET ?? "";
  const appUrl = (await provision({ ownerUrl: database.url, bootSecret })).urlFor(undefined);
  const connected = await connect({ url: appUrl, poolMax, entities: [], statementTimeoutMs: 5_000 });
  return {
    database,
    appUrl,
    owner: database.owner,
    connected,
    async stop() {
      await connected.close();
      await database.stop();
    },
  };
}

export interface Filled {
  tenantId: number;
  departmentId: number;
  doctorId: number;
  patientId: number;
}

/** A tenant with at least one row in every table that has tenant rows. */
export async function fillTenant(owner: pg.Client, subdomain: string): Promise<Filled> {
  const one = async (text: string, values: unknown[]): Promise<number> =>
    (await owner.query(text, values)).rows[0].id;
  const tenantId = await one("insert into tenants (name, subdomain) values ('A Clinic', $1) returning id", [
    subdomain,
  ]);
  const departmentId = await one(
    "insert into departments (tenant_id, name) values ($1, 'Unit') returning id",
    [tenantId],
  );
  const doctorId = await one(
    `insert into users (tenant_id, department_id, email, full_name, role, approved_at, password_hash)
     values ($1, $2, 'doctor@people.example', 'A Doctor', 'doctor', now(), '-') returning id`,
    [tenantId, departmentId],
  );
  const ids = [tenantId, doctorId];
  await owner.query("insert into preferences (tenant_id, user_id, theme) values ($1, $2, 'dark')", ids);
  await owner.query(
    `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at)
     values (gen_random_uuid(), $1, $2, 0, 0, now() + interval '1 day')`,
    ids,
  );
  await owner.query(
    `insert into mail_tokens (tenant_id, user_id, kind, token_hash, expires_at)
     values ($1, $2, 'verify_email', sha256(convert_to($3, 'UTF8')), now() + interval '1 day')`,
    [...ids, subdomain],
  );
  await owner.query("insert into lockouts (tenant_id, account, state) values ($1, 'ghost:1', 'null')", [
    tenantId,
  ]);
  await owner.query(
    "insert into known_origins (tenant_id, user_id, address) values ($1, $2, '192.0.2.1')",
    ids,
  );
  await owner.query("insert into registrations (tenant_id, user_id) values ($1, $2)", ids);
  await owner.query(
    "insert into audit_entries (tenant_id, action, outcome) values ($1, 'user.create', 'ok')",
    [tenantId],
  );
  await owner.query("insert into audit_proofs (tenant_id, seq, hash) values ($1, 1, sha256('-'))", [
    tenantId,
  ]);
  await owner.query("insert into events (tenant_id, kind, payload) values ($1, 'user.created', '{}')", [
    tenantId,
  ]);
  await owner.query(
    `insert into payment_notifications (provider, notification_id, type, body_hash, state, tenant_id, payment_id)
     values ('card', $1::text, 'payment.pending', sha256('-'), 'applied', $2, 'p')`,
    [`n-${tenantId}`, tenantId],
  );
  await owner.query(
    `insert into payments (tenant_id, provider, payment_id, status, amount, currency, occurred_at, pending_at, newest_at,
       newest_id, version) values ($1, 'card', 'p', 'pending', '1', 'EUR', now(), now(), now(), 'n', 1)`,
    [tenantId],
  );
  await owner.query(
    `insert into audit_repeats (tenant_id, key, action, outcome, changes, seconds, ends_at)
     values ($1, sha256('-'), 'user.block', 'denied', '{}', 900, now())`,
    [tenantId],
  );
  await owner.query(
    "insert into daily_counts (tenant_id, kind, day, taken, bound) values ($1, 'audit.refusals', now(), 1, 10)",
    [tenantId],
  );
  await fillWebhooks(owner, tenantId);
  await owner.query(
    `with target as (insert into delivery_targets (tenant_id, channel, events, is_active)
       values ($1, 'messenger', '{}', false) returning id)
     insert into messenger_links (id, tenant_id, user_id, chat_id, display_name)
     select id, $1, $2, $1, 'A Doctor' from target`,
    ids,
  );
  const patientId = await fillPatients(owner, tenantId, departmentId, doctorId);
  await fillBackups(owner, tenantId);
  await fillIncidents(owner, tenantId);
  return { tenantId, departmentId, doctorId, patientId };
}

async function fillWebhooks(owner: pg.Client, tenantId: number): Promise<void> {
  await owner.query(
    `with target as (insert into delivery_targets (tenant_id, channel, events) values ($1, 'webhook', '{*}') returning id),
     hook as (insert into webhooks (tenant_id, id, url, secret) select $1, id, 'https://a.example/', '-' from target),
     queued as (insert into fan_out_queue values ($1, 1)),
     made as (insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at)
       select $1, id, 1, 1, 'user.created', '{}', now(), now() from target returning id)
     insert into delivery_attempts (tenant_id, delivery_id, cause, duration_ms) select $1, id, 'scheduled', 1 from made`,
    [tenantId],
  );
}

async function fillPatients(
  owner: pg.Client,
  tenantId: number,
  departmentId: number,
  doctorId: number,
): Promise<number> {
  const { BOOT_SECRET = "" } = testSettings({ url: "", folder: "" });
  await owner.query(
    `insert into master_keys (version, wrapped, fingerprint, state) values (1, $1, sha256('-'), 'primary')
     on conflict do nothing`,
    [wrapMasterKey(BOOT_SECRET, 1, Buffer.alloc(32))],
  );
  await owner.query(
    `insert into data_keys (tenant_id, purpose, master_version, wrapped, state)
     values ($1, 'field', 1, '-', 'primary'), ($1, 'index', 1, '-', 'primary')`,
    [tenantId],
  );
  await owner.query(
    `insert into rotations (master_version, previous_version, rewrapped, rows_total, tenants_total)
     values (1, 1, 0, 0, 0) on conflict do nothing`,
  );
  await owner.query("insert into rotation_tenants select id, $1 from rotations", [tenantId]);
  await owner.query(
    `insert into quarantined_fields (tenant_id, table_name, row_id, column_name, reason, rotation_id)
     select $1, 'patients', 1, 'notes', 'format', id from rotations`,
    [tenantId],
  );
  const { rows } = await owner.query(
    `insert into patients (tenant_id, department_id, record_number, identity, full_name_index)
     values ($1, $2, 'R-1', '-', sha256('-')) returning id`,
    [tenantId, departmentId],
  );
  await owner.query(
    `insert into patient_records (tenant_id, patient_id, author_id, kind, body) values ($1, $2, $3, 'visit', '-')`,
    [tenantId, rows[0].id, doctorId],
  );
  return rows[0].id;
}

async function fillBackups(owner: pg.Client, tenantId: number): Promise<void> {
  const id = `bk_${String(tenantId).padStart(32, "0")}`;
  await owner.query(
    `insert into backups (id, type, tenant_id, reason, schema_version, key_version, size_bytes, rows, sha256, created_at,
       verified_at) values ($2, 'tenant', $1, 'manual', '-', 1, 1, 1, repeat('0', 64), now(), now())`,
    [tenantId, id],
  );
  await owner.query(
    `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason)
     values (gen_random_uuid(), 'backup', 'tenant', $1, $2, 'manual')`,
    [tenantId, id],
  );
  await owner.query(
    `insert into backup_tickets (token_hash, tenant_id, session_id, backup_id, expires_at)
     values (sha256(convert_to($2, 'UTF8')), $1, gen_random_uuid(), $2, now())`,
    [tenantId, id],
  );
  await owner.query(
    "insert into archive_keys (backup_id, tenant_id, master_version, wrapped) values ($2, $1, 1, '-')",
    [tenantId, id],
  );
  // Over already, so that it holds nobody up.
  await owner.query(
    "insert into tenant_freezes (tenant_id, job_id, until) values ($1, gen_random_uuid(), now())",
    [tenantId],
  );
}

async function fillIncidents(owner: pg.Client, tenantId: number): Promise<void> {
  await owner.query(
    `insert into fixes (code, title, problem, risk, seeded_hash) values ('a_fault', '-', '-', 'low', sha256('-'))
     on conflict do nothing`,
  );
  await owner.query(
    `with opened as (insert into incidents (fix_id, tenant_id, code, service, target, evidence)
       select id, $1::integer, code, 'users', 'tenant:' || $1::integer, '{}' from fixes returning id, fix_id, tenant_id)
     insert into incident_steps (incident_id, fix_id, tenant_id, step) select id, fix_id, tenant_id, 'detected' from opened`,
    [tenantId],
  );
}

/** Tables that no statement made for a tenant may read at all, not even for its own rows. */
export const platformTables: ReadonlySet<string> = new Set([
  "data_keys",
  "rotation_tenants",
  "quarantined_fields",
  "payment_notifications",
  "fan_out_queue",
  "incident_steps",
]);

/**
 * As if the services' login had been granted every right to tenants' rows: what the policies hold back they hold back by
 * themselves. Keys and the like stay the platform's.
 */
export async function openTables({ owner }: Pick<Scene, "owner">): Promise<void> {
  for (const { name } of await tenantTables(owner)) {
    await owner.query(`grant select, insert, update, delete on ${name} to records_login_platform`);
    if (!platformTables.has(name))
      await owner.query(`grant select, insert, update, delete on ${name} to records_login`);
  }
}

/** Every table with tenant rows and the column that says whose they are; from the catalogue, so none is forgotten. */
export async function tenantTables(owner: pg.Client): Promise<{ name: string; column: string }[]> {
  const { rows } = await owner.query(
    `select c.relname as name, case c.relname when 'tenants' then 'id' else 'tenant_id' end as column
     from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
       and (c.relname = 'tenants' or exists (select from pg_attribute a
         where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)) order by 1`,
  );
  return rows;
}
