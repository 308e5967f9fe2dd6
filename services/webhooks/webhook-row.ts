// Conversion of a webhook between its two tables, which share one id, and its JSON form. Neither contains the
// secret.
import { toIso } from "../shared/wire.ts";
import type { Webhook } from "./webhooks.contract.ts";

export const webhooksFrom = "delivery_targets t join webhooks w on w.tenant_id = t.tenant_id and w.id = t.id";
export const webhookColumns = `t.id, t.tenant_id, w.url, t.events, t.is_active, t.created_at, t.updated_at, w.failing_since,
  w.disabled_at, w.disabled_reason`;

/** The columns of `webhookColumns`; times are in PostgreSQL's format. */
export type WebhookRow = Webhook;

/** Converts a row to its JSON form. */
export function toWebhook(row: WebhookRow): Webhook {
  const { id, tenant_id, url, events, is_active, disabled_reason } = row;
  return {
    id,
    tenant_id,
    url,
    events,
    is_active,
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
    failing_since: row.failing_since === null ? null : toIso(row.failing_since),
    disabled_at: row.disabled_at === null ? null : toIso(row.disabled_at),
    disabled_reason,
  };
}
