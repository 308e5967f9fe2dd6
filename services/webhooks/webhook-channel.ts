// Webhooks as a channel of the delivery worker. A webhook is disabled after five days of uninterrupted
// failures, or when it answers 410.
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
/**
 * Nothing is sent without a signature. It counts as a failed attempt, so a new secret repairs it, and without
 * one the attempts run out.
 */
const unsigned: Attempt = {
  outcome: "failed",
  statusCode: null,
  durationMs: 0,
  error: "secret_unreadable",
  response: null,
};

/** The channel for the delivery worker. */
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

interface ReceiverResult {
  endpoint: OpenEndpoint;
  succeeded: boolean;
  gone: boolean;
}

async function followUp(
  database: Database,
  outcomes: readonly AttemptOutcome<OpenEndpoint>[],
): Promise<void> {
  const records = new Map<number, ReceiverResult>();
  for (const { settings: endpoint, attempt } of outcomes) {
    const record = records.get(endpoint.id) ?? { endpoint, succeeded: false, gone: false };
    records.set(endpoint.id, record);
    if (attempt.outcome === "delivered") record.succeeded = true;
    if (attempt.outcome === "gone") record.gone = true;
  }
  const changed = [...records.values()].filter(
    ({ endpoint, succeeded }) => succeeded === (endpoint.failingForMs !== null),
  );
  if (changed.length > 0) await saveFailingState(database, changed);
  for (const { endpoint, succeeded, gone } of records.values()) {
    if (gone) await disableWebhook(database, endpoint, "gone");
    else if (!succeeded && (endpoint.failingForMs ?? 0) > failingMsMax)
      await disableWebhook(database, endpoint, "failing");
  }
}

/** Stored only when a webhook changes from success to failure or back, not with every delivery. */
async function saveFailingState(database: Database, changed: readonly ReceiverResult[]): Promise<void> {
  await database.write(platform, Caller.system("webhooks"), {
    name: "webhooks.note_turn",
    text: `update webhooks w set failing_since = case when g.succeeded then null else coalesce(w.failing_since, now()) end
      from unnest($1::integer[], $2::integer[], $3::boolean[]) as g (tenant_id, id, succeeded)
      where w.tenant_id = g.tenant_id and w.id = g.id and g.succeeded = (w.failing_since is not null)`,
    values: [
      changed.map(({ endpoint }) => endpoint.tenantId),
      changed.map(({ endpoint }) => endpoint.id),
      changed.map(({ succeeded }) => succeeded),
    ],
  });
  // Updates the cached endpoints until they are read again, so that the next batch does not write the same
  // change.
  for (const { endpoint, succeeded } of changed) endpoint.failingForMs = succeeded ? null : 0;
}
