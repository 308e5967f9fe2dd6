// Computes what a restore would change, by SQL over the staged archive.
import type { Bulk } from "../shared/database/bulk.ts";
import { planText } from "./restore-plan.ts";

/** Numbers of rows that a restore would add, change and remove. */
export interface PlannedTable {
  table: string;
  add: number;
  change: number;
  remove: number;
}

/**
 * Planner settings for statements over staged rows. There are no statistics yet, so the planner would choose
 * nested loops.
 */
export const planning =
  "select set_config('enable_nestloop', 'off', true), set_config('work_mem', '64MB', true)";

/** The plan of a tenant whose archive is staged for the job. */
export async function readPlan(bulk: Bulk, job: string, tenantId: number): Promise<PlannedTable[]> {
  await bulk.query(planning);
  return bulk.query<PlannedTable & object>(planText, [job, tenantId]);
}
