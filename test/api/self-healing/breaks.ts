// One way to break each thing that has a remedy, on a running service: for the tests, which see it healed, and for the bench,
// which says how long that takes. Each leaves the fault as it is after the time that its detector gives it.
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { passwordOf } from "../../../host/database/application-login.ts";
import type { Healable } from "../../../mixins/healing/catalogue.ts";
import { backUp, makePatient } from "../backups/scene.ts";
import type { BotApi } from "../../support/bot-api.ts";
import { urlAs } from "../../support/logins.ts";
import { eventually, type TestService } from "../../support/service.ts";
import { makeDepartment, makeUser } from "../../support/tenancy.ts";

export interface BreakSite {
  service: Pick<TestService, "call" | "settings">;
  databaseUrl: string;
  /** Of a clinic, and a token of its administrator, who sees all patients. */
  clinic: { id: number; token: string };
  /** As the database's owner. */
  sql: <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** The messenger, where the service is set up with one. */
  api?: BotApi;
}

/** @returns the target at fault */
type Break = (site: BreakSite) => Promise<string>;

const longAgo = () => new Date(Date.now() - 3 * 3_600_000);

/** In the folder store a key is a path. */
export async function storedFile(
  { service }: Pick<BreakSite, "service">,
  id: string,
  part: string,
): Promise<string> {
  const folder = service.settings["DATA_DIR"] ?? "";
  const found = (await readdir(folder, { recursive: true })).find((each) =>
    each.endsWith(join("backups", id, part)),
  );
  if (found === undefined) throw new Error(`no ${part} of ${id}`);
  return join(folder, found);
}

/**
 * Begins the job of the hour, as the one at the start may have been over before the clinic was made, and waits for its end: it
 * would prove what is broken next.
 */
export async function untilProved({ clinic, sql }: Pick<BreakSite, "clinic" | "sql">): Promise<void> {
  await sql(
    "select graphile_worker.add_job('audit.checkpoint', job_key := 'proof', queue_name := 'audit.checkpoint')",
  );
  await eventually(async () => {
    const [row] = await sql<{ proved: boolean; waiting: boolean }>(
      `select exists (select from audit_proofs where tenant_id = $1) as proved,
         exists (select from graphile_worker._private_jobs where key = 'proof') as waiting`,
      [clinic.id],
    );
    return row?.proved === true && !row.waiting;
  });
}

/** A job of a task that is not due meanwhile, brought into the state that is told in SQL. */
async function jobIn({ sql }: BreakSite, task: string, state: string): Promise<string> {
  const [made] = await sql<{ id: string }>(
    "select id from graphile_worker.add_job($1, run_at := now() + interval '1 day', max_attempts := 3)",
    [task],
  );
  await sql(`update graphile_worker._private_jobs set ${state} where id = $1`, [made?.id]);
  return `job:${made?.id}`;
}

async function webhookTo({ service, clinic }: BreakSite, events: readonly string[]): Promise<number> {
  const { status, body } = await service.call("POST", "/api/webhooks/register", {
    token: clinic.token,
    body: { url: "http://127.0.0.1:9/nobody", events },
  });
  if (status !== 201) throw new Error(`webhook: ${status} ${JSON.stringify(body)}`);
  return body.id;
}

const ofWork = {
  job_worker_gone: (site) =>
    jobIn(
      site,
      "users.purge",
      "locked_at = now() - interval '10 minutes', locked_by = 'dead', run_at = now()",
    ),

  job_gave_up: (site) => jobIn(site, "tenants.purge", "attempts = max_attempts"),

  async delivery_stuck(site) {
    const id = await webhookTo(site, ["user.created"]);
    await site.sql(
      `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at)
       values ($1, $2, 999999, 1, 'user.created', '{}', now(), now() - interval '10 minutes')`,
      [site.clinic.id, id],
    );
    return `target:${id}`;
  },

  async link_left_behind({ service, clinic, sql }) {
    const user = await makeUser(service, clinic.token);
    const [target] = await sql(
      "insert into delivery_targets (tenant_id, channel, events) values ($1, 'messenger', '{user.created}') returning id",
      [clinic.id],
    );
    // Of the counters of users too nobody is told.
    await sql("alter table users disable trigger user");
    await sql("update users set is_active = false where id = $1", [user.id]);
    await sql("alter table users enable trigger user");
    await sql(
      "insert into messenger_links (id, tenant_id, user_id, chat_id, display_name) values ($1, $2, $3, 4711, 'x')",
      [target?.["id"], clinic.id, user.id],
    );
    return `link:${target?.["id"]}`;
  },

  async messenger_registration_lost({ api }) {
    if (api === undefined) throw new Error("this service has no messenger");
    await eventually(async () => api.webhook !== undefined);
    api.webhook = undefined;
    return "endpoint";
  },

  async session_idle_in_transaction({ service, databaseUrl, sql }) {
    const parts = { kinds: [], passwords: {} };
    const database = new URL(databaseUrl).pathname.slice(1);
    const password = passwordOf("login", database, parts, service.settings["BOOT_SECRET"]);
    const idle = new pg.Client({
      connectionString: urlAs({ url: databaseUrl }, `${database}_login`, password),
      application_name: "records",
    });
    idle.on("error", () => {});
    await idle.connect();
    const { rows } = await idle.query<{ pid: number }>("select pg_backend_pid() as pid");
    const pid = rows[0]?.pid;
    await idle.query("begin");
    const secondsMax = Number(service.settings["IDLE_IN_TRANSACTION_MAX_SECONDS"]);
    const [found] = await eventually(async () => {
      const seen = await sql<{ target: string }>(
        `select 'session:' || pid || '@' || extract(epoch from backend_start)::bigint as target from pg_stat_activity
         where pid = $1 and state = 'idle in transaction' and state_change < now() - make_interval(secs => $2)`,
        [pid, secondsMax],
      );
      return seen.length > 0 && seen;
    });
    return found?.target ?? "";
  },
} satisfies Partial<Record<Healable, Break>>;

const ofRows = {
  async user_counts_differ({ clinic, sql }) {
    await sql(
      `update user_counts set users = users + 3 where (tenant_id, role, is_active) in
         (select tenant_id, role, is_active from user_counts where tenant_id = $1 limit 1)`,
      [clinic.id],
    );
    return `tenant:${clinic.id}`;
  },

  async department_head_gone({ service, clinic, sql }) {
    const doctor = await makeUser(service, clinic.token, { role: "head_doctor" });
    const department = await makeDepartment(service, clinic.token, { head_doctor_id: doctor.id });
    await sql("update users set deleted_at = now() where id = $1", [doctor.id]);
    return `department:${department.id}`;
  },

  async expired_rows_pile_up({ sql }) {
    await sql(
      `insert into mail_tokens (tenant_id, user_id, kind, token_hash, expires_at)
       select tenant_id, id, 'verify_email', sha256('old'), now() - interval '5 days' from users limit 1`,
    );
    return "rows:mail_tokens";
  },

  async purge_overdue({ service, clinic, sql }) {
    const gone = await makeUser(service, clinic.token);
    await sql("update users set deleted_at = now() - interval '40 days' where id = $1", [gone.id]);
    return "rows:users";
  },

  async log_beyond_retention({ sql }) {
    await sql(
      `insert into payment_notifications (provider, notification_id, type, body_hash, state, received_at)
       values ('card', 'old', 'none', sha256('old'), 'ignored', now() - interval '100 days')`,
    );
    return "rows:payment_notifications";
  },

  /** Its trigger off: the patient's stamp says that nothing has changed. */
  async cache_differs({ service, clinic, sql }) {
    const { token } = clinic;
    const { id } = await makePatient(service, token, "Remembered");
    await eventually(async () => {
      await service.call("GET", `/api/patients/${id}`, { token });
      const { body } = await service.call("GET", "/api/admin/cache/stats", { token });
      return body.entries > 0;
    });
    await sql("alter table patients disable trigger user");
    await sql("update patients set record_number = 'CHANGED' where id = $1", [id]);
    await sql("alter table patients enable trigger user");
    return `patient:${id}`;
  },

  async audit_proof_overdue({ clinic, sql }) {
    await untilProved({ clinic, sql });
    await sql(
      "update audit_proofs set first_bad_seq = null, proved_at = now() - interval '3 days' where tenant_id = $1",
      [clinic.id],
    );
    return `tenant:${clinic.id}`;
  },
} satisfies Partial<Record<Healable, Break>>;

const ofBackups = {
  async backup_job_abandoned({ sql }) {
    const id = crypto.randomUUID();
    await sql(
      `insert into backup_jobs (id, kind, type, backup_id, reason, status, leased_by, leased_until)
       values ($1, 'backup', 'full', $2, 'manual', 'running', gen_random_uuid(), now() - interval '10 minutes')`,
      [id, `bk_${id.replaceAll("-", "")}`],
    );
    return `backup_job:${id}`;
  },

  /** Of those that there are, each proved meanwhile: its proof is another fault. */
  async backup_overdue({ sql }) {
    await eventually(async () => (await sql("select from backups where type = 'full'")).length > 0);
    await sql(
      `update backups set created_at = now() - interval '30 days', verified_at = now() - interval '30 days',
         tested_at = now() - interval '1 hour', test_passed = true where type = 'full'`,
    );
    return "everything";
  },

  /** There is one, of which the last proof is old. */
  async proof_overdue({ sql }) {
    await eventually(async () => (await sql("select from backups where type = 'full'")).length > 0);
    await sql(
      `update backups set tested_at = now() - interval '20 days', test_passed = true,
         verified_at = least(verified_at, now() - interval '20 days') where type = 'full'`,
    );
    return "everything";
  },

  async backup_object_missing(site) {
    // One of two: where most are missing nothing is done.
    await backUp(site.service, site.clinic.token);
    const { backup_id: lost } = await backUp(site.service, site.clinic.token);
    await site.sql("update backups set verified_at = now() - interval '1 hour'");
    await rm(await storedFile(site, lost, "data"));
    return `backup:${lost}`;
  },

  async object_without_backup(site) {
    const { backup_id: made } = await backUp(site.service, site.clinic.token);
    await site.sql("delete from backups where id = $1", [made]);
    for (const part of ["data", "manifest"]) {
      const at = longAgo();
      await utimes(await storedFile(site, made, part), at, at);
    }
    return `object:${made}`;
  },

  async upload_leftovers({ service }) {
    const folder = join(service.settings["DATA_DIR"] ?? "", "backups", ".unfinished");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "left"), "half");
    const at = longAgo();
    await utimes(join(folder, "left"), at, at);
    return "uploads";
  },

  async freeze_left_behind({ clinic, sql }) {
    await sql(
      "insert into tenant_freezes (tenant_id, job_id, until) values ($1, gen_random_uuid(), now() - interval '20 minutes')",
      [clinic.id],
    );
    return `tenant:${clinic.id}`;
  },
} satisfies Partial<Record<Healable, Break>>;

/** One for each: a fault with a remedy that nobody can break does not compile. */
export const breaks: Readonly<Record<Healable, Break>> = { ...ofWork, ...ofRows, ...ofBackups };
