// The audit log: reading it and proving it.
// Owns audit_entries, audit_heads, audit_repeats and daily_counts; every change writes its own entries in its own
// transaction, and the database numbers and chains them, so this service only records what was refused before it became
// a change, and sums up what repeats.
// Promises: a tenant's entries have no gap, and an altered, removed, reordered or inserted one is found by verify, and by
// whoever has the signed checkpoints that leave the database, also if the database's owner has written all of it anew.
// Nobody makes the log grow without bound by being refused.
// Does not: delete anything; the log outlives users and tenants.
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
import { watchProofs } from "./proof-figures.ts";
import { auditChainBroken, auditProofOverdue } from "./log-faults.ts";

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
