// Payments, and the inbox of their providers' notifications.
import { addJobs, rates, record, refusals, runJobs, type ServiceRights, publish } from "./rights.ts";

export const payments: ServiceRights = {
  tenant: { ...rates, ...addJobs, ...runJobs, payments: "select" },
  platform: {
    ...refusals,
    payments: "select, insert, update",
    payment_notifications: "select, insert, update, delete",
    known_to_payments: "execute",
    audit_entries: record,
    events: publish,
  },
  audits: ["payment", "limit"],
  publishes: ["payment.succeeded", "payment.failed", "payment.refunded"],
};
