// Backups for tests, made over HTTP as an administrator makes them, and archives taken apart.
import { zstdDecompressSync } from "node:zlib";
import type pg from "pg";
import type { Contents } from "../../../services/backups/archive/manifest.ts";
import { eventually, type TestService } from "../../support/service.ts";
import { type Made, makeTenant, makeUser } from "../../support/tenancy.ts";

type Service = Pick<TestService, "call">;

export interface Begun {
  job_id: string;
  backup_id: string;
  type: "full" | "tenant";
}

export async function begin(service: Service, token: string, body: object = {}): Promise<Begun> {
  const answer = await service.call("POST", "/api/admin/backup/create", { token, body });
  if (answer.status !== 200) throw new Error(`backup: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export interface EndedJob {
  status: "succeeded" | "failed";
  error: string | null;
  error_code: string | null;
  safety_backup_id: string | null;
  [more: string]: unknown;
}

/** Waits for a job's end, however it ends. */
export function ended(service: Service, token: string, jobId: string, msMax = 60_000): Promise<EndedJob> {
  return eventually(async () => {
    const { status, body } = await service.call("GET", `/api/admin/backup/status/${jobId}`, { token });
    return status === 200 && ["succeeded", "failed"].includes(body.status) && body;
  }, msMax);
}

export async function backUp(service: Service, token: string, body: object = {}): Promise<Begun> {
  const begun = await begin(service, token, body);
  const job = await ended(service, token, begun.job_id);
  if (job.status !== "succeeded") throw new Error(`backup: ${JSON.stringify(job)}`);
  return begun;
}

let made = 0;

export async function makePatient(
  service: Service,
  token: string,
  name: string,
  number = `B-${++made}`,
  more: object = {},
): Promise<{ id: number; version: number; full_name: string; record_number: string }> {
  const body = {
    record_number: number,
    full_name: name,
    notes: `notes of ${name}`,
    phone: "+49301234567",
    ...more,
  };
  const answer = await service.call("POST", "/api/patients", { token, body });
  if (answer.status !== 201) throw new Error(`patient: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** The files of a download. */
export function unpack(zstd: Buffer): Map<string, Buffer> {
  const tar = zstdDecompressSync(zstd);
  const files = new Map<string, Buffer>();
  for (let at = 0; tar[at] !== 0; ) {
    const name = tar.toString("latin1", at, at + 100).split("\0")[0] ?? "";
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 135), 8);
    files.set(name, tar.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

export function manifestIn(files: Map<string, Buffer>): Contents {
  return JSON.parse(String(files.get("manifest.json")));
}

export interface Clinic {
  id: number;
  subdomain: string;
  admin: Made;
  token: string;
}

/** A tenant of its own whose administrator sees all its patients. */
export async function openClinic(
  service: Pick<TestService, "call" | "signInAs">,
  superadmin: string,
): Promise<Clinic> {
  const tenant = await makeTenant(service, superadmin);
  const admin = await makeUser(service, superadmin, {
    tenant_id: tenant.id,
    role: "admin",
    can_see_all_patients: true,
  });
  const token = await service.signInAs(admin.email, tenant.subdomain);
  return { id: tenant.id, subdomain: tenant.subdomain, admin, token };
}

/** Restores and waits for the end, through the 503 that the tenant itself is answered meanwhile. */
export async function restore(service: Service, token: string, backupId: string): Promise<EndedJob> {
  const body = { backup_id: backupId, confirm: true };
  const answer = await service.call("POST", "/api/admin/backup/restore", { token, body });
  if (answer.status !== 200) throw new Error(`restore: ${answer.status} ${JSON.stringify(answer.body)}`);
  return ended(service, token, answer.body.job_id);
}

/** Kept by the service itself at any time, whoever restores what. */
const moving = [
  "backups",
  "backup_jobs",
  "archive_keys",
  "tenant_freezes",
  "rate_limits",
  "sessions",
  "lockouts",
  // Logs are signed soon after a start and each quarter of an hour.
  "audit_checkpoints",
  "audit_sinks",
  "audit_proofs",
  // The detectors look at any moment.
  "fault_looks",
  "schedule_occurrences",
  // A restore that begins is one of its day.
  "daily_counts",
];

/** A sum over all rows of each table, as text in the order of their text. */
export async function tableSums(
  owner: pg.Client,
  where = "true",
  except: readonly string[] = [...moving, "audit_entries", "audit_heads", "events", "fan_out_queue"],
): Promise<Record<string, string>> {
  const { rows } = await owner.query<{ name: string; tenant: boolean }>(
    `select c.relname as name, exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id') as tenant
     from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> all($1) order by 1`,
    [except],
  );
  const sums: Record<string, string> = {};
  for (const { name, tenant } of rows) {
    if (where !== "true" && !tenant) continue;
    const sum = await owner.query(
      `select md5(coalesce(string_agg(t::text, E'\\n' order by t::text), '')) as sum from public."${name}" t where ${where}`,
    );
    sums[name] = sum.rows[0].sum;
  }
  return sums;
}
