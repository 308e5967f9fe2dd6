// The audit log: reading it and proving it.
// Owns audit_entries, audit_heads, audit_repeats and daily_counts; every change writes its own entries in its own
// transaction, and the database numbers and chains them, so this service only records what was refused before it became
// a change, and sums up what repeats.
// Promises: a tenant's entries have no gap, and an altered, removed, reordered or inserted one is found by verify; nobody
// makes the log grow without bound by being refused.
// Does not: delete anything; the log outlives users and tenants.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { jobs } from "../../mixins/jobs.ts";
import { type Call, implement } from "../shared/bus.ts";
import { auditRefusal } from "../shared/limits/audit-refusal.ts";
import { auditContract } from "./audit.contract.ts";
import { listAudit } from "./list-audit.ts";
import { sumUpRepeats } from "./sum-up-repeats.ts";
import { verifyAudit } from "./verify-audit.ts";

async function recordRefusal(
  call: Call<{ action: string; code: string; target_id?: string | undefined }>,
): Promise<void> {
  const { principal } = call.caller;
  if (principal.kind !== "user") return;
  const { tenantId } = principal;
  const { action, code, target_id: id } = call.params;
  const target = id === undefined ? {} : { target: { type: action.split(".")[0] ?? action, id } };
  // Whoever walks over ids is refused the same for each.
  const refusal = {
    tenantId,
    action,
    outcome: "denied",
    changes: { code },
    byTarget: false,
    ...target,
  } as const;
  await call.db.change({ tenantId }, call.caller, (change) =>
    auditRefusal(change, call.runtime, call.caller, refusal),
  );
}

const audit: ServiceSchema = {
  name: "audit",
  mixins: [
    database(),
    jobs({ tasks: { "audit.sum_up": sumUpRepeats }, schedules: { "audit.sum_up": "* * * * *" } }),
  ],
  actions: implement(auditContract, {
    "audit.list": listAudit,
    "audit.verify": verifyAudit,
    "audit.record_refusal": recordRefusal,
  }),
};

export default audit;
