// Webhooks: which events a tenant subscribes to, and their delivery.
// Life cycle: registered → changed, disabled and enabled → deleted; its secret is deleted at once, its log by
// the sweep.
// Promises: secrets are stored only in sealed form, and returned once when generated here; every event is
// delivered at least once to each webhook that subscribed to it, always under the same id, or its delivery
// ends as failed or canceled; nothing is sent to a non-public address unless an operator allows it.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { implement } from "../shared/bus/bus.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { deliveries } from "../../mixins/deliveries/deliveries.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { outbound } from "../../mixins/outbound/outbound-mixin.ts";
import { cancelDeliveries } from "./cancel-deliveries.ts";
import { checkpointsContract } from "./checkpoints.contract.ts";
import { removeWebhook, updateWebhook } from "./change-webhook.ts";
import { deliveriesContract } from "./deliveries.contract.ts";
import { watchDeliveries } from "./delivery-metrics.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { listEventTypes, listWebhooks } from "./read-webhooks.ts";
import { postCheckpoint } from "./post-checkpoint.ts";
import { recoverMissed } from "./recover-deliveries.ts";
import { registerWebhook } from "./register-webhook.ts";
import { recoverDeliveries, resendDelivery } from "./resend.ts";
import { sweepDeliveries } from "./sweep-deliveries.ts";
import { testWebhook } from "./test-webhook.ts";
import { webhookChannel } from "./webhook-channel.ts";
import { webhooksContract } from "./webhooks.contract.ts";
import { deliveryStuck, outboxLagging, webhookFailing } from "./delivery-faults.ts";
import { overdueRows } from "../../mixins/healing/overdue-rows.ts";
import { sessionIdleInTransaction } from "../../mixins/healing/session-faults.ts";
import { waitingDeliveries } from "./waiting-deliveries.ts";

const webhooks: ServiceSchema = {
  name: "webhooks",
  mixins: [
    database(),
    jobs({
      tasks: {
        "webhooks.cancel": cancelDeliveries,
        "webhooks.recover": recoverMissed,
        "webhooks.sweep": sweepDeliveries,
      },
      schedules: { "webhooks.sweep": "17 1 * * *" },
    }),
    detectors("webhooks", {
      ...jobFaults("webhooks"),
      delivery_stuck: deliveryStuck,
      webhook_failing: webhookFailing,
      outbox_lagging: outboxLagging,
      session_idle_in_transaction: sessionIdleInTransaction,
      log_beyond_retention: overdueRows("webhooks", "webhooks.sweep", [
        // The ids begin with the millisecond of their creation.
        {
          what: "deliveries",
          rows: `from deliveries where id < (lpad(to_hex((extract(epoch from now() - interval '92 days') * 1000)::bigint), 12, '0')
            || repeat('0', 20))::uuid`,
        },
      ]),
    }),
    deliveries(({ broker, runtime }) => webhookChannel(broker, runtime)),
    outbound(),
    serviceMetrics(watchDeliveries),
  ],
  actions: implement(
    { ...webhooksContract, ...deliveriesContract, ...checkpointsContract },
    {
      "webhooks.list": listWebhooks,
      "webhooks.register": registerWebhook,
      "webhooks.update": updateWebhook,
      "webhooks.remove": removeWebhook,
      "webhooks.event_types": listEventTypes,
      "webhooks.test": testWebhook,
      "webhooks.deliveries": listDeliveries,
      "webhooks.waiting_deliveries": waitingDeliveries,
      "webhooks.resend": resendDelivery,
      "webhooks.recover": recoverDeliveries,
      "webhooks.post_checkpoint": postCheckpoint,
    },
  ),
};

export default webhooks;
