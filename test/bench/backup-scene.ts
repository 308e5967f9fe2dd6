// The scene of the backups' part: tenants of so many megabytes of sealed rows, put in by the owner, and what an
// administrator does over HTTP: begin a backup or a restore, and watch it to its end.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { cpuMsOf, residentPeakMbOf, resetResidentPeak } from "./cpu.ts";
import { addClinic, type Clinic } from "./clinic.ts";
import type { Scene } from "./stage.ts";

/** What COPY (binary) makes of a patient with one record, as fill-patients.ts has them. */
const bytesEach = 1_750;
const sealedMax = 10_000;
/** Each look is a statement of the owner's: requests would be others' work, to which a backup gives way. */
const pollMs = 20;
const finishMsMax = 600_000;

/** A clinic of so many megabytes: some thousand patients are sealed, the others are the same bytes under other ids. */
export async function addLargeClinic(scene: Scene, subdomain: string, megabytes: number): Promise<Clinic> {
  const wanted = Math.max(100, Math.round((megabytes * 1e6) / bytesEach));
  const sealed = Math.min(sealedMax, wanted);
  const clinic = await addClinic(scene, subdomain, sealed);
  const copies = Math.round(wanted / sealed) - 1;
  if (copies > 0) await multiply(scene.owner, clinic.id, sealed, copies);
  return clinic;
}

/** In another order of magnitude than zstd's window, so that no copy is packed as one. */
async function multiply(owner: pg.Client, tenantId: number, sealed: number, copies: number): Promise<void> {
  const reserve = async (sequence: string) => {
    const { rows } = await owner.query<{ first: number }>(
      `select (setval('${sequence}', nextval('${sequence}') + $1) - $1)::integer as first`,
      [sealed * copies],
    );
    return rows[0]?.first ?? 0;
  };
  const [patient, record] = [await reserve("patients_id_seq"), await reserve("patient_records_id_seq")];
  await owner.query("set session_replication_role = replica");
  await owner.query("set synchronous_commit = off");
  await owner.query(
    `with base as (select *, row_number() over (order by id)::integer as place from patients where tenant_id = $1)
     insert into patients (id, tenant_id, record_number, identity, full_name_index, phone_index, notes)
     select $2 + (n - 1) * $3::integer + place, tenant_id, 'C-' || n || '-' || place, identity, full_name_index, phone_index, notes
     from generate_series(1, $4::integer) n, base order by n, place`,
    [tenantId, patient, sealed, copies],
  );
  await owner.query(
    `with base as (select *, row_number() over (order by id)::integer as place from patient_records where tenant_id = $1)
     insert into patient_records (id, tenant_id, patient_id, kind, body)
     select $2 + (n - 1) * $3::integer + place, tenant_id, $5::integer + (n - 1) * $3 + place, kind, body
     from generate_series(1, $4::integer) n, base order by n, place`,
    [tenantId, record, sealed, copies, patient],
  );
  await owner.query("reset session_replication_role");
  await owner.query("vacuum (analyze) patients");
  await owner.query("vacuum (analyze) patient_records");
  await owner.query("checkpoint");
}

export interface Job {
  backupId: string;
  /** From the request to where the writing was over, and to the end. */
  writtenMs: number;
  ms: number;
  /** Of the file as it is downloaded. */
  bytes: number;
  rows: number;
  /** Resident memory: the highest meanwhile, above what it was before. */
  grownMb: number;
  /** CPU seconds of the service, without the server's. */
  cpuS: number;
}

interface Status {
  status: string;
  rows_done: number;
  error_code: string | null;
}

/** What one caller does with backups. */
export class BackupCaller {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #processId: number;
  readonly #owner: pg.Client;

  constructor({ url, owner, service }: Scene, token: string) {
    this.#url = url;
    this.#owner = owner;
    this.#headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    this.#processId = service.processId;
  }

  async backUp(type: "full" | "tenant"): Promise<Job> {
    const job = await this.#watched("POST", "/api/admin/backup/create", { type });
    const { items } = (await this.#call("GET", "/api/admin/backup/list")) as {
      items: { backup_id: string; size_bytes: number; rows: number }[];
    };
    const made = items.find(({ backup_id: id }) => id === job.backupId);
    if (made === undefined) throw new Error("a backup that succeeded is not listed");
    return { ...job, bytes: made.size_bytes, rows: made.rows };
  }

  restore(backupId: string): Promise<Job> {
    return this.#watched("POST", "/api/admin/backup/restore", { backup_id: backupId, confirm: true });
  }

  remove(backupId: string): Promise<unknown> {
    return this.#call("DELETE", `/api/admin/backup/${backupId}`);
  }

  async #watched(method: string, path: string, body: object): Promise<Job> {
    const before = resetResidentPeak(this.#processId);
    const [startedAt, cpuBefore] = [performance.now(), cpuMsOf(this.#processId)];
    const begun = (await this.#call(method, path, body)) as { job_id: string; backup_id: string };
    let writtenMs = 0;
    for (;;) {
      const state = await this.#standing(begun.job_id);
      const ms = performance.now() - startedAt;
      if (writtenMs === 0 && state.status !== "queued" && state.status !== "running") writtenMs = ms;
      if (state.status === "failed") throw new Error(`the job failed: ${state.error_code}`);
      if (ms > finishMsMax) throw new Error("the job did not end");
      if (state.status !== "succeeded") {
        await delay(pollMs);
        continue;
      }
      const cpuS = (cpuMsOf(this.#processId) - cpuBefore) / 1000;
      const grownMb = residentPeakMbOf(this.#processId) - before;
      return { backupId: begun.backup_id, writtenMs, ms, bytes: 0, rows: state.rows_done, grownMb, cpuS };
    }
  }

  async #standing(jobId: string): Promise<Status> {
    const text = "select status, rows_done::integer as rows_done, error_code from backup_jobs where id = $1";
    const { rows } = await this.#owner.query<Status>(text, [jobId]);
    const [state] = rows;
    if (state === undefined) throw new Error("there is no such job");
    return state;
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.#url}${path}`, { method, headers: this.#headers, ...sent });
    if (answer.status !== 200)
      throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  }
}
