// Self-healing: only fixes and incidents. Other services detect and repair faults with their own rights.
import { addJobs, record, runJobs, type ServiceRights, publish } from "./rights.ts";

export const selfHealing: ServiceRights = {
  tenant: { ...addJobs, ...runJobs },
  platform: {
    ...addJobs,
    fixes: "select, insert, update, delete",
    incidents: "select, insert, update, delete",
    incident_steps: "select, insert, delete",
    fault_looks: "select, insert, update, delete",
    audit_entries: record,
    events: publish,
  },
  audits: ["fix", "incident"],
  publishes: ["fix.applied", "fix.failed", "incident.opened"],
  enqueues: ["mail.incident"],
};
