// The audit log: reading it and proving it.
// Owns audit_entries and audit_heads; every change writes its own entries in its own transaction, and the database
// numbers and chains them, so this service only records what was refused before it became a change.
// Promises: a tenant's entries have no gap, and an altered, removed, reordered or inserted one is found by verify.
// Does not: delete anything; the log outlives users and tenants.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { type Call, implement } from "../shared/bus.ts";
import { auditContract } from "./audit.contract.ts";
import { listAudit } from "./list-audit.ts";
import { verifyAudit } from "./verify-audit.ts";

async function recordRefusal(
  call: Call<{ action: string; code: string; target_id?: string | undefined }>,
): Promise<void> {
  const { principal } = call.caller;
  if (principal.kind !== "user") return;
  const { tenantId } = principal;
  const { action, code, target_id: id } = call.params;
  await call.db.change({ tenantId }, call.caller, async (change) => {
    const target = id === undefined ? {} : { target: { type: action.split(".")[0] ?? action, id } };
    change.audit({ tenantId, action, outcome: "denied", changes: { code }, ...target });
  });
}

const audit: ServiceSchema = {
  name: "audit",
  mixins: [database()],
  actions: implement(auditContract, {
    "audit.list": listAudit,
    "audit.verify": verifyAudit,
    "audit.record_refusal": recordRefusal,
  }),
};

export default audit;
