// Plans of restores, made by staging the archive in a transaction that is rolled back. For a large tenant
// this exceeds the time of a request; then it continues, and a later request gets the result.
import { randomUUID } from "node:crypto";
import { ServiceError, Unavailable } from "../shared/errors.ts";
import { asAnswer } from "./failure-from.ts";
import type { BackupParts } from "./make-backup.ts";
import { openArchive } from "./open-archive.ts";
import type { PlannedTable } from "./read-plan.ts";

const answerMsMax = 8_000;
const planMsMax = 30 * 60_000;
const finishedKeptMs = 10 * 60_000;
/** Plans being made at a time. */
const plansMax = 4;
/** Finished plans that were not fetched yet. */
const finishedMax = 1_000;

interface Plan {
  backupId: string;
  tables: Promise<PlannedTable[]>;
  isMade: boolean;
}

/** One plan per tenant, being made or not fetched yet, so that no tenant blocks the others. */
export class Plans {
  readonly #parts: () => BackupParts;
  /** A Map, as beyond the bound a new plan is refused: none that is being made may be evicted. */
  readonly #plans = new Map<number, Plan>();
  readonly #stopping: AbortSignal;

  constructor(parts: () => BackupParts, stopping: AbortSignal) {
    this.#parts = parts;
    this.#stopping = stopping;
  }

  /**
   * @throws Unavailable `plan_unfinished` when the client should ask again, `busy` when there are too many
   * plans
   */
  async of(backupId: string, tenantId: number): Promise<PlannedTable[]> {
    const known = this.#plans.get(tenantId);
    const plan = known?.backupId === backupId ? known : this.#begin(backupId, tenantId, known);
    const late = AbortSignal.timeout(answerMsMax);
    const unfinished = new Promise<never>((_resolve, reject) => {
      const sentence = "The plan is being made; ask again in some seconds";
      const refuse = () => reject(new Unavailable("plan_unfinished", sentence, 5));
      late.addEventListener("abort", refuse, { once: true });
    });
    try {
      const tables = await Promise.race([plan.tables, unfinished]);
      this.#forget(tenantId, plan);
      return tables;
    } catch (error) {
      throw error instanceof ServiceError ? error : asAnswer(error);
    }
  }

  #begin(backupId: string, tenantId: number, known: Plan | undefined): Plan {
    const plans = [...this.#plans.values()];
    const underWay = plans.filter(({ isMade }) => !isMade).length;
    if (known?.isMade === false || underWay >= plansMax || plans.length >= finishedMax)
      throw new Unavailable("busy", "Too many plans are being made at the moment", 10);
    const signal = AbortSignal.any([this.#stopping, AbortSignal.timeout(planMsMax)]);
    const tables = makePlan(this.#parts(), backupId, tenantId, signal);
    const plan: Plan = { backupId, tables, isMade: false };
    this.#plans.set(tenantId, plan);
    tables.then(
      () => {
        plan.isMade = true;
        setTimeout(() => this.#forget(tenantId, plan), finishedKeptMs).unref();
      },
      () => this.#forget(tenantId, plan),
    );
    return plan;
  }

  #forget(tenantId: number, plan: Plan): void {
    if (this.#plans.get(tenantId) === plan) this.#plans.delete(tenantId);
  }
}

async function makePlan(
  { moving, ...source }: BackupParts,
  backupId: string,
  tenantId: number,
  signal: AbortSignal,
): Promise<PlannedTable[]> {
  const { steps, ...archive } = await openArchive(source, { backupId, tenantId }, signal);
  return moving.plan(archive, { job: randomUUID(), tenantId, steps }, () => {}, signal);
}
