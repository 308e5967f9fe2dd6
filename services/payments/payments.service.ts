// Payments, as reported by the card provider and the wallet provider.
// Life cycle: a notification arrives → its signature is verified → it is stored once in the inbox → it
// changes its payment, or is stale, ignored or without a tenant. A payment results from all its
// notifications.
// Promises: a notification is committed before it is answered with 200; it takes effect once, in whatever
// order and however often it arrives; the change of a payment, its audit entry and its event are one
// transaction; unsigned notifications have no effect, and their number is bounded.
// Does not call providers, move money or compute with amounts.
import type { Service, ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { serviceMetrics } from "../../mixins/service-metrics.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { implement, runtimeOf } from "../shared/bus/bus.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { cardProvider } from "./card-provider.ts";
import { takeNotification } from "./intake.ts";
import { getPayment, listNotifications } from "./list-notifications.ts";
import { countPayments } from "./payment-metrics.ts";
import { listPayments } from "./list-payments.ts";
import { paymentsContract } from "./payments.contract.ts";
import { sweepNotifications } from "./sweep-notifications.ts";
import { paymentsUnverified } from "./unverified-faults.ts";
import { walletProvider } from "./wallet-provider.ts";
import { overdueRows } from "../../mixins/healing/overdue-rows.ts";

const payments: ServiceSchema = {
  name: "payments",
  mixins: [
    database(),
    jobs({ tasks: { "payments.sweep": sweepNotifications }, schedules: { "payments.sweep": "47 2 * * *" } }),
    detectors("payments", {
      ...jobFaults("payments"),
      payments_unverified: paymentsUnverified,
      log_beyond_retention: overdueRows("payments", "payments.sweep", [
        {
          what: "payment_notifications",
          rows: "from payment_notifications where received_at < now() - interval '92 days'",
        },
      ]),
    }),
    serviceMetrics(countPayments),
  ],
  actions: implement(paymentsContract, {
    "payments.take_card": (call) => takeNotification(call, cardProvider),
    "payments.take_wallet": (call) => takeNotification(call, walletProvider),
    "payments.list": listPayments,
    "payments.notifications": listNotifications,
    "payments.get": getPayment,
  }),
  started(this: Service) {
    const { config, log } = runtimeOf(this);
    for (const { provider, secretsOf } of [cardProvider, walletProvider])
      if (config.production && secretsOf(config).length === 0)
        log.warn(
          { provider },
          "no secret is set: notifications of this provider are kept and act on nothing",
        );
  },
};

export default payments;
