// Payments, and the inbox of what their providers said.
import { addJobs, record, runJobs, type ServiceRights, tell } from "./rights.ts";

export const payments: ServiceRights = {
  tenant: { ...addJobs, ...runJobs, payments: "select" },
  platform: {
    payments: "select, insert, update",
    payment_notifications: "select, insert, update, delete",
    known_to_payments: "execute",
    audit_entries: record,
    events: tell,
  },
  audits: ["payment"],
  tells: ["payment.succeeded", "payment.failed", "payment.refunded"],
};
