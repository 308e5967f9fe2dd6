// Faults of the deliveries: who is told, by whom, how often, and at which address.
import type { PlantedFault } from "../planted-fault.ts";

export const deliveryFaults: readonly PlantedFault[] = [
  {
    says: "a delivery's result is written though another worker took over",
    file: "mixins/deliveries/due-deliveries.ts",
    text: "and d.state = 'pending' and d.attempts = g.attempts)",
    replacement: "and d.state = 'pending')",
    tests: {
      "test/database/interleaved/forced-orders.test.ts":
        "a late result goes into the log and changes nothing",
    },
  },
  {
    says: "a webhook's name is resolved a second time between check and connection",
    file: "mixins/outbound/exchange.ts",
    text: `lookup: () => {
      throw new Error("an address was to be resolved again");
    },`,
    replacement: "host: target.host,",
    tests: { "test/unit/mixins/outbound/hostile.test.ts": "is held for seconds where it is" },
  },
  {
    says: "a recovery runs beside a fan-out",
    file: "services/webhooks/recover-deliveries.ts",
    text: "await lockFanOut(change, tenantId);",
    replacement: "",
    tests: { "test/api/webhooks/log.test.ts": "waits for a fan-out under way" },
  },
  {
    says: "a deactivated tenant is told",
    file: "mixins/deliveries/fan-out.ts",
    text: "where exists (select from tenants where id = $1 and is_active and deleted_at is null)",
    replacement: "where true",
    tests: { "test/api/webhooks/delivery.test.ts": "nor for a tenant that is" },
  },
  {
    says: "a webhook is switched off after five hours of failures, not five days",
    file: "services/webhooks/webhook-channel.ts",
    text: "const failingMsMax = 120 * 3_600_000;",
    replacement: "const failingMsMax = 5 * 3_600_000;",
    tests: { "test/api/webhooks/delivery.test.ts": "for five days is switched off" },
  },
  {
    says: "a worker speaks to a target whose lease another has",
    file: "mixins/deliveries/leases.ts",
    text: `where id in (select id from delivery_targets where next_due_at <= now() and channel = $1
        and (leased_until is null or leased_until < now()) and not`,
    replacement: `where id in (select id from delivery_targets where next_due_at <= now() and channel = $1
        and not`,
    tests: {
      "test/database/interleaved/forced-orders.test.ts": "a lease is one worker's until it has run out",
    },
  },
];
