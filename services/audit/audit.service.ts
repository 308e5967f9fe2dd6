// The audit log: reading and verifying it.
// Owns audit_entries, audit_heads, audit_repeats and daily_counts. Every change writes its own entries in its
// own transaction, and the database numbers and chains them. This service only records calls that were
// refused before they became a change, and summarises repetitions.
// Promises: a tenant's entries have no gap. An altered, removed, reordered or inserted entry is found by
// `audit.verify`, and by anyone with the signed checkpoints that leave the database, even if the owner of the
// database has rewritten the whole chain. Refused calls cannot make the log grow without bound.
// Does not delete entries: the log is kept after users and tenants are deleted.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { type Call, implement } from "../shared/bus/bus.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import type { Change } from "../shared/database/change.ts";
import { auditRefusal } from "../shared/limits/audit-refusal.ts";
import type { Config } from "../../host/settings/settings.ts";
import { auditContract } from "./audit.contract.ts";
import { listCheckpoints } from "./checkpoints/list-checkpoints.ts";
import { checkpointTask, runCheckpoints } from "./checkpoints/run-checkpoints.ts";
import { sweepCheckpoints } from "./checkpoints/sweep-checkpoints.ts";
import { exportAudit } from "./export-audit.ts";
import { listAudit } from "./list-audit.ts";
import { measureLogs } from "./measure-logs.ts";
import { sumUpRepeats } from "./sum-up-repeats.ts";
import { verifyAudit } from "./verify-audit.ts";
import { watchProofs } from "./proof-metrics.ts";
import { auditChainBroken, auditProofOverdue } from "./log-faults.ts";

async function recordRefusal(
  call: Call<{ action: string; code: string; target_id?: string | undefined }>,
): Promise<void> {
  const { principal } = call.caller;
  if (principal.kind !== "user") return;
  const { tenantId } = principal;
  const { action, code, target_id: id } = call.params;
  const target = id === undefined ? {} : { target: { type: action.split(".")[0] ?? action, id } };
  // A caller who tries many ids gets the same refusal for each, so the target is not part of the key of
  // repetitions.
  const refusal = {
    tenantId,
    action,
    outcome: "denied",
    changes: { code },
    byTarget: false,
    ...target,
  } as const;
  const record = (change: Change) => auditRefusal(change, call.runtime, call.caller, refusal);
  await call.db.change({ tenantId }, call.caller, record, { evenIfSignedOut: true });
}

function everyMinutes({ auditCheckpointMinutes: minutes }: Config): string {
  return minutes === 60 ? "0 * * * *" : `*/${minutes} * * * *`;
}

const audit: ServiceSchema = {
  name: "audit",
  mixins: [
    database(),
    jobs({
      tasks: {
        "audit.sum_up": sumUpRepeats,
        "audit.measure": measureLogs,
        [checkpointTask]: runCheckpoints,
        "audit.sweep": sweepCheckpoints,
      },
      schedules: {
        "audit.sum_up": "* * * * *",
        "audit.measure": "11 * * * *",
        "audit.checkpoint": everyMinutes,
        "audit.sweep": "41 1 * * *",
      },
      serial: [checkpointTask],
      atStart: [checkpointTask],
    }),
    detectors("audit", {
      ...jobFaults("audit"),
      audit_chain_broken: auditChainBroken,
      audit_proof_overdue: auditProofOverdue,
    }),
    serviceMetrics(watchProofs),
  ],
  actions: implement(auditContract, {
    "audit.list": listAudit,
    "audit.verify": verifyAudit,
    "audit.export": exportAudit,
    "audit.checkpoints": listCheckpoints,
    "audit.record_refusal": recordRefusal,
  }),
};

export default audit;
