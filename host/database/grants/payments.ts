// Payments, and the inbox of what their providers said.
import { addJobs, rates, record, refusals, runJobs, type ServiceRights, tell } from "./rights.ts";

export const payments: ServiceRights = {
  tenant: { ...rates, ...addJobs, ...runJobs, payments: "select" },
  platform: {
    ...refusals,
    payments: "select, insert, update",
    payment_notifications: "select, insert, update, delete",
    known_to_payments: "execute",
    audit_entries: record,
    events: tell,
  },
  audits: ["payment", "limit"],
  tells: ["payment.succeeded", "payment.failed", "payment.refunded"],
};
