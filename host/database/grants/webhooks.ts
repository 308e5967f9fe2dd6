// Webhooks, their encrypted secrets, and the delivery log.
import { deliveryWorker } from "./deliveries.ts";
import { addJobs, limits, lock, rates, record, runJobs, type ServiceRights, publish } from "./rights.ts";

export const webhooks: ServiceRights = {
  tenant: {
    ...rates,
    ...limits,
    ...addJobs,
    ...runJobs,
    delivery_targets: "select, insert, update",
    delivery_targets_id_seq: "usage",
    webhooks: "select, insert, update, delete",
    deliveries: "select, update (state, cause, tries, due_at, finished_at)",
    delivery_attempts: "select",
    // To find the recipients of the mail about a disabled webhook.
    users: "select (id, tenant_id, role, is_active, deleted_at)",
    tenants: lock,
    hold_sealing_keys: "execute",
    audit_entries: record,
    events: publish,
  },
  platform: {
    ...deliveryWorker,
    events: `${deliveryWorker["events"]}, delete`,
    delivery_targets: "select, update, delete",
    deliveries: "select, insert, update, delete",
    delivery_attempts: `${deliveryWorker["delivery_attempts"]}, select, delete`,
    webhooks: "select, update (failing_since)",
  },
  audits: ["webhook", "limit"],
  publishes: ["webhook.disabled"],
  enqueues: ["mail.webhook_disabled"],
};
