// Webhooks: who of a tenant is told of which events, and the telling.
// Life cycle: registered → changed, switched off and on → deleted, its secret at once, its log by and by.
// Promises: secrets are at rest only sealed, and shown once when made here; nothing is ever sent to an address that is
// not public, unless an operator allows it.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { jobs } from "../../mixins/jobs.ts";
import { implement } from "../shared/bus.ts";
import { cancelDeliveries } from "./cancel-deliveries.ts";
import { removeWebhook, updateWebhook } from "./change-webhook.ts";
import { listEventTypes, listWebhooks } from "./own-webhooks.ts";
import { registerWebhook } from "./register-webhook.ts";
import { webhooksContract } from "./webhooks.contract.ts";

const webhooks: ServiceSchema = {
  name: "webhooks",
  mixins: [database(), jobs({ tasks: { "webhooks.cancel": cancelDeliveries } })],
  actions: implement(webhooksContract, {
    "webhooks.list": listWebhooks,
    "webhooks.register": registerWebhook,
    "webhooks.update": updateWebhook,
    "webhooks.remove": removeWebhook,
    "webhooks.event_types": listEventTypes,
  }),
};

export default webhooks;
