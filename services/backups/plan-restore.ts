// What a restore would change, found by laying the archive out beside the tables in a transaction that is taken back. Of a
// large tenant that takes longer than a request may: then it goes on, and whoever asks again is told its result.
import { randomUUID } from "node:crypto";
import { Bulk } from "../shared/database/bulk.ts";
import { ServiceError, Unavailable } from "../shared/errors.ts";
import { assertKeys } from "./assert-keys.ts";
import { bringUpToDate } from "./archive-schema.ts";
import { asAnswer } from "./job-failed.ts";
import type { BackupParts } from "./make-backup.ts";
import { openArchive } from "./open-archive.ts";
import { planText } from "./restore-plan.ts";
import { stage } from "./stage.ts";

export interface PlannedTable {
  table: string;
  add: number;
  change: number;
  remove: number;
}

const answerMsMax = 8_000;
const planMsMax = 30 * 60_000;
const keptMs = 10 * 60_000;
const plansMax = 4;

/** Those under way, and those that nobody has been told yet. */
export class Plans {
  readonly #parts: () => BackupParts;
  readonly #plans = new Map<string, Promise<PlannedTable[]>>();
  readonly #stopping: AbortSignal;

  constructor(parts: () => BackupParts, stopping: AbortSignal) {
    this.#parts = parts;
    this.#stopping = stopping;
  }

  /** @throws Unavailable `plan_unfinished`: ask again */
  async of(backupId: string, tenantId: number): Promise<PlannedTable[]> {
    const known = this.#plans.get(backupId);
    if (known === undefined && this.#plans.size >= plansMax)
      throw new Unavailable("busy", "Too many plans are being made at the moment", 10);
    const plan = known ?? this.#begin(backupId, tenantId);
    const late = AbortSignal.timeout(answerMsMax);
    const unfinished = new Promise<never>((_resolve, reject) => {
      const sentence = "The plan is being made; ask again in some seconds";
      const tell = () => reject(new Unavailable("plan_unfinished", sentence, 5));
      late.addEventListener("abort", tell, { once: true });
    });
    try {
      const tables = await Promise.race([plan, unfinished]);
      this.#plans.delete(backupId);
      return tables;
    } catch (error) {
      throw error instanceof ServiceError ? error : asAnswer(error);
    }
  }

  #begin(backupId: string, tenantId: number): Promise<PlannedTable[]> {
    const signal = AbortSignal.any([this.#stopping, AbortSignal.timeout(planMsMax)]);
    const plan = makePlan(this.#parts(), backupId, tenantId, signal);
    this.#plans.set(backupId, plan);
    const forget = () => {
      if (this.#plans.get(backupId) === plan) this.#plans.delete(backupId);
    };
    plan.then(() => setTimeout(forget, keptMs).unref(), forget);
    return plan;
  }
}

async function makePlan(
  { store, keyring, databaseUrl }: BackupParts,
  backupId: string,
  tenantId: number,
  signal: AbortSignal,
): Promise<PlannedTable[]> {
  const archive = await openArchive(store, keyring, { backupId, tenantId }, signal);
  const job = randomUUID();
  const bulk = await Bulk.open(databaseUrl, signal);
  try {
    await bulk.beginChange({ as: "restore", tenantId, job });
    await stage(bulk, store, archive, () => {}, signal);
    await bringUpToDate(bulk, archive.manifest.contents, job);
    await assertKeys(bulk, job, tenantId);
    return await readPlan(bulk, job, tenantId);
  } finally {
    // Ends the transaction too: nothing of it stays.
    await bulk.close();
  }
}

/** Statements over what was just laid out: nothing is known of it yet, and by default the planner would go row by row. */
export const planning =
  "select set_config('enable_nestloop', 'off', true), set_config('work_mem', '64MB', true)";

export async function readPlan(bulk: Bulk, job: string, tenantId: number): Promise<PlannedTable[]> {
  await bulk.query(planning);
  return bulk.query<PlannedTable & object>(planText, [job, tenantId]);
}
