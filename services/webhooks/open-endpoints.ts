// Webhooks with opened secrets, ready for sending. Read every second while deliveries are pending, so that a
// changed URL or secret applies at once.
import type { ServiceBroker } from "moleculer";
import { callAs } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { TargetRef } from "../../mixins/deliveries/channel.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { openSecrets, type SealedSecrets } from "./open-secrets.ts";
import type { Endpoint } from "./post-event.ts";
import type { RowOf } from "../shared/database/row.ts";

/**
 * `secrets` is empty when the current secret does not open; then nothing can be signed until a new one is
 * set.
 */
export interface OpenEndpoint extends Endpoint {
  tenantId: number;
  id: number;
  /** Milliseconds since the first of uninterrupted failures; null after a success. */
  failingForMs: number | null;
}

type Row = SealedSecrets & RowOf<"webhooks", "tenant_id" | "url", { failing_ms: number | null }>;

/**
 * A target is absent when it or its tenant is missing or inactive. "later": the tenant's keys are unavailable
 * at the moment.
 */
export async function openEndpoints(
  broker: ServiceBroker,
  runtime: Runtime,
  targets: readonly TargetRef[],
): Promise<Map<number, OpenEndpoint | "later">> {
  const rows = await runtime.database.read<Row>(platform, {
    name: "webhooks.endpoints",
    text: `select w.tenant_id, w.id, w.url, w.secret,
        case when w.previous_secret_until > now() then w.previous_secret end as previous_secret,
        extract(epoch from now() - w.failing_since)::float8 * 1000 as failing_ms
      from delivery_targets t join webhooks w on w.tenant_id = t.tenant_id and w.id = t.id
      join tenants n on n.id = t.tenant_id and n.is_active and n.deleted_at is null
      where t.id = any($1::integer[]) and t.is_active and t.deleted_at is null`,
    values: [targets.map(({ targetId }) => targetId)],
  });
  const byTenant = Map.groupBy(rows, ({ tenant_id: tenantId }) => tenantId);
  const opened = new Map<number, OpenEndpoint | "later">();
  await Promise.all(
    [...byTenant].map(async ([tenantId, own]) => {
      const keys = await keysFor(broker, runtime, tenantId, own);
      for (const row of own) opened.set(row.id, openOne(runtime, keys, row));
    }),
  );
  return opened;
}

async function keysFor(
  broker: ServiceBroker,
  runtime: Runtime,
  tenantId: number,
  rows: readonly Row[],
): Promise<TenantKeys | undefined> {
  const sealed = rows.flatMap(({ secret, previous_secret: previous }) =>
    previous === null ? [secret] : [secret, previous],
  );
  try {
    return await runtime.keys.opening(tenantId, sealed, async (id, wornKeyId) => {
      const asked = { tenant_id: id, worn_key_id: wornKeyId ?? null };
      return (await callAs(broker, "webhooks", "crypto.keys", asked)).keys;
    });
  } catch (error) {
    runtime.log.warn({ tenantId, err: error }, "a tenant's webhooks wait for their keys");
    return undefined;
  }
}

function openOne(runtime: Runtime, keys: TenantKeys | undefined, row: Row): OpenEndpoint | "later" {
  if (keys === undefined) return "later";
  const { tenant_id: tenantId, id, url } = row;
  const { secrets, unreadable } = openSecrets(keys, row);
  if (unreadable.length > 0)
    runtime.log.error({ tenantId, webhookId: id, unreadable }, "a webhook's secret does not open");
  return { tenantId, id, url, secrets, failingForMs: row.failing_ms };
}
