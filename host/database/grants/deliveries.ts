// The rights of a process with a DeliveryWorker of any channel: it fans out the events of every channel.
import type { Privileges } from "./rights.ts";

export const deliveryWorker: Privileges = {
  fan_out_queue: "select, update, delete",
  events: "select (id, tenant_id, kind, payload, created_at, trace)",
  delivery_targets: "select, update",
  may_be_told: "execute",
  deliveries: "select, insert, update",
  delivery_attempts: "insert (tenant_id, delivery_id, cause, status_code, duration_ms, error, response)",
};
