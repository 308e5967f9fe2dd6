// The audit log: reading, verifying and signing it; and refusals that never became a change.
import { addJobs, rates, record, refusals, runJobs, type ServiceRights } from "./rights.ts";

export const audit: ServiceRights = {
  tenant: {
    ...addJobs,
    ...runJobs,
    ...rates,
    ...refusals,
    audit_entries: `select, ${record}`,
    audit_heads: "select",
    // The audit service also deletes repeats after they became an entry.
    audit_repeats: `${refusals["audit_repeats"]}, delete`,
    append_entries: "execute",
  },
  platform: {
    ...addJobs,
    audit_entries: `select, ${record}`,
    audit_heads: "select",
    audit_repeats: "select (tenant_id, ends_at)",
    daily_counts: "select, insert, update, delete",
    audit_checkpoints: "select, insert, delete",
    audit_sinks: "select, insert, update",
    audit_signing_keys: "select, insert",
    audit_proofs: "select, insert, update",
  },
  audits: ["audit", "limit"],
  refuses: true,
};
