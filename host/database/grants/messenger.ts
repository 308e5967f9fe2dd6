// Messenger: linked chats, and the connection to the messenger's servers.
import { deliveryWorker } from "./deliveries.ts";
import { addJobs, lock, rates, record, runJobs, type ServiceRights } from "./rights.ts";

const users = "select (id, tenant_id, role, is_active, deleted_at)";

export const messenger: ServiceRights = {
  tenant: {
    ...rates,
    ...addJobs,
    ...runJobs,
    messenger_links: "select, update (events), delete",
    delivery_targets: "select, update",
    users,
    audit_entries: record,
  },
  platform: {
    ...deliveryWorker,
    ...addJobs,
    delivery_targets: "select, insert, update",
    messenger_links: "select, insert, update, delete",
    messenger_codes: "select, insert, update, delete",
    messenger_updates: "select, insert, delete",
    messenger_bots: "select, insert, update",
    users: `${users}, ${lock}`,
    tenants: lock,
    audit_entries: record,
  },
  audits: ["messenger"],
  enqueues: ["webhooks.cancel"],
};
