// Reading the webhooks of the caller's own tenant, and checks for changes to them.
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { eventKinds } from "../shared/event-kinds.ts";
import { eventDescriptions } from "../shared/event-payloads.ts";
import { toJsonSchema } from "../shared/params/json-schema.ts";
import { Forbidden, Invalid, NotFound } from "../shared/errors.ts";
import { outboundOf } from "../../mixins/outbound/outbound-mixin.ts";
import { ownTenant } from "../shared/administered-scope.ts";
import { toWebhook, webhookColumns, type WebhookRow, webhooksFrom } from "./webhook-row.ts";
import type { EventType, Webhook } from "./webhooks.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Maximum of webhooks per tenant. */
export const webhooksMax = 50;

/** @throws Forbidden for operators, who have no tenant */
export function tenantOf(call: Call<unknown>): number {
  const tenantId = ownTenant(call.caller);
  if (tenantId === undefined) throw new Forbidden();
  return tenantId;
}

/** The tenant's webhooks, oldest first. */
export async function listWebhooks(call: Call<unknown>): Promise<Webhook[]> {
  const tenantId = tenantOf(call);
  const rows = await call.db.read<WebhookRow>(
    { tenantId },
    {
      name: "webhooks.list",
      text: `select ${webhookColumns} from ${webhooksFrom}
        where t.tenant_id = $1 and t.channel = 'webhook' and t.deleted_at is null order by t.id limit ${webhooksMax}`,
      values: [tenantId],
    },
  );
  return rows.map(toWebhook);
}

/** The kinds of events with a JSON Schema of each payload. */
export async function listEventTypes(): Promise<EventType[]> {
  return eventTypes;
}

const eventTypes: EventType[] = [
  ...eventKinds.map((type) => {
    const { description, data } = eventDescriptions[type];
    return { type, description, schema: toJsonSchema(data) };
  }),
  { type: "*", description: "All of them, also those to come.", schema: { type: "object" } },
];

/** A webhook locked for a change, with its sealed secret. */
export type LockedWebhook = WebhookRow & RowOf<"webhooks", "secret">;

/** Locks it until the transaction ends. @throws NotFound */
export async function lockWebhook(change: Change, tenantId: number, id: number): Promise<LockedWebhook> {
  const [row] = await change.execute<LockedWebhook>(
    `select ${webhookColumns}, w.secret from ${webhooksFrom}
     where t.tenant_id = $1 and t.id = $2 and t.deleted_at is null for no key update of t, w`,
    [tenantId, id],
  );
  if (row === undefined) throw new NotFound("Webhook");
  return row;
}

/** @throws Invalid when the URL must not be called (not https, or not a public address) */
export async function assertReachable(call: Call<unknown>, url: string): Promise<void> {
  const found = await outboundOf(call.runtime).check(url);
  if (found === undefined) return;
  if (!found.sentence.includes("https://")) throw Invalid.body("url", found.sentence);
  throw new Invalid([{ loc: ["body", "url"], msg: "URL scheme should be 'https'", type: "url_scheme" }]);
}
