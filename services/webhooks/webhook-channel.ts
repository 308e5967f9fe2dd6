// Webhooks as a channel of the delivery worker, and what follows from a webhook's failures: after five days of nothing else,
// or when it says that it is gone, it is switched off.
import type { ServiceBroker } from "moleculer";
import { Caller } from "../shared/caller.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import type { Attempt, Channel, AttemptOutcome } from "../../mixins/deliveries/channel.ts";
import { outboundOf } from "../../mixins/outbound/outbound-mixin.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { disableWebhook } from "./disable-webhook.ts";
import { messageId } from "./message-id.ts";
import { type OpenEndpoint, openEndpoints } from "./open-endpoints.ts";
import { postEvent } from "./post-event.ts";

const failingMsMax = 120 * 3_600_000;
/** Nothing is sent without a signature: it is a try like others, so a new secret mends it, and without one it ends. */
const unsigned: Attempt = {
  outcome: "failed",
  statusCode: null,
  durationMs: 0,
  error: "secret_unreadable",
  response: null,
};

export function webhookChannel(broker: ServiceBroker, runtime: Runtime): Channel<OpenEndpoint> {
  const outbound = outboundOf(runtime);
  return {
    name: "webhook",
    settingsOf: (targets) => openEndpoints(broker, runtime, targets),
    send: async (delivery, endpoint, signal) =>
      endpoint.secrets.length === 0
        ? unsigned
        : postEvent(outbound, endpoint, { ...delivery, id: messageId(delivery.id) }, { signal }),
    recorded: (outcomes) => followUp(runtime.database, outcomes),
  };
}

interface Record {
  endpoint: OpenEndpoint;
  succeeded: boolean;
  gone: boolean;
}

async function followUp(
  database: Database,
  outcomes: readonly AttemptOutcome<OpenEndpoint>[],
): Promise<void> {
  const records = new Map<number, Record>();
  for (const { settings: endpoint, attempt } of outcomes) {
    const record = records.get(endpoint.id) ?? { endpoint, succeeded: false, gone: false };
    records.set(endpoint.id, record);
    if (attempt.outcome === "delivered") record.succeeded = true;
    if (attempt.outcome === "gone") record.gone = true;
  }
  const turned = [...records.values()].filter(
    ({ endpoint, succeeded }) => succeeded === (endpoint.failingForMs !== null),
  );
  if (turned.length > 0) await noteTurn(database, turned);
  for (const { endpoint, succeeded, gone } of records.values()) {
    if (gone) await disableWebhook(database, endpoint, "gone");
    else if (!succeeded && (endpoint.failingForMs ?? 0) > failingMsMax)
      await disableWebhook(database, endpoint, "failing");
  }
}

/** From success to failure or back: written only then, not with every delivery. */
async function noteTurn(database: Database, turned: readonly Record[]): Promise<void> {
  await database.write(platform, Caller.system("webhooks"), {
    name: "webhooks.note_turn",
    text: `update webhooks w set failing_since = case when g.succeeded then null else coalesce(w.failing_since, now()) end
      from unnest($1::integer[], $2::integer[], $3::boolean[]) as g (tenant_id, id, succeeded)
      where w.tenant_id = g.tenant_id and w.id = g.id and g.succeeded = (w.failing_since is not null)`,
    values: [
      turned.map(({ endpoint }) => endpoint.tenantId),
      turned.map(({ endpoint }) => endpoint.id),
      turned.map(({ succeeded }) => succeeded),
    ],
  });
  // Until they are read anew, so that the next batch does not write the same again.
  for (const { endpoint, succeeded } of turned) endpoint.failingForMs = succeeded ? null : 0;
}
