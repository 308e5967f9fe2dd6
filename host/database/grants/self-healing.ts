// Self-healing: fixes and incidents, and nothing of anybody else's. What is looked at and mended is the others', by their rights.
import { addJobs, record, runJobs, type ServiceRights, tell } from "./rights.ts";

export const selfHealing: ServiceRights = {
  tenant: { ...addJobs, ...runJobs },
  platform: {
    ...addJobs,
    fixes: "select, insert, update, delete",
    incidents: "select, insert, update, delete",
    incident_steps: "select, insert, delete",
    fault_looks: "select, insert, update, delete",
    audit_entries: record,
    events: tell,
  },
  audits: ["fix", "incident"],
  tells: ["fix.applied", "fix.failed", "incident.opened"],
  enqueues: ["mail.incident"],
};
