// The audit log, read and proved; and what was refused before it became a change.
import { record, type ServiceRights } from "./rights.ts";

export const audit: ServiceRights = {
  tenant: { audit_entries: `select, ${record}`, audit_heads: "select" },
  platform: { audit_entries: "select", audit_heads: "select" },
  audits: ["audit"],
  refuses: true,
};
