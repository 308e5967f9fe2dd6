// What a restore would change, asked of PostgreSQL when the archive has been laid out.
import type { Bulk } from "../shared/database/bulk.ts";
import { planText } from "./restore-plan.ts";

export interface PlannedTable {
  table: string;
  add: number;
  change: number;
  remove: number;
}

/** Statements over what was just laid out: nothing is known of it yet, and by default the planner would go row by row. */
export const planning =
  "select set_config('enable_nestloop', 'off', true), set_config('work_mem', '64MB', true)";

export async function readPlan(bulk: Bulk, job: string, tenantId: number): Promise<PlannedTable[]> {
  await bulk.query(planning);
  return bulk.query<PlannedTable & object>(planText, [job, tenantId]);
}
