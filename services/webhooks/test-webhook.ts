// One webhook.test, sent while the caller waits; it is no delivery and stands in no log.
import { randomBytes } from "node:crypto";
import type { Call } from "../shared/bus.ts";
import { NotFound } from "../shared/errors.ts";
import { deadlineMsMax } from "../shared/outbound/outbound.ts";
import { outboundOf } from "../shared/outbound/outbound-of.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import { openingKeys } from "../shared/sealing/ask-keys.ts";
import type { TestResult } from "./deliveries.contract.ts";
import { tenantOf } from "./own-webhooks.ts";
import { postEvent } from "./post-event.ts";
import { signingKey } from "./webhooks.rules.ts";

/** The answer has to be back before the call is given up. */
const spareMs = 2_000;

/** Ten a minute each: an address is looked at by somebody, not scanned. */
const testsOf = perRuntime(({ database }) => new RateLimit(database, "webhook_test", 10, 60));

export async function testWebhook(call: Call<{ webhook_id: number }>): Promise<TestResult> {
  const { webhook_id: id } = call.params;
  const tenantId = tenantOf(call);
  const row = await call.db.readOne<{ url: string; secret: Buffer; previous: Buffer | null }>(
    { tenantId },
    {
      name: "webhooks.to_test",
      text: `select url, secret, case when previous_secret_until > now() then previous_secret end as previous
        from webhooks where tenant_id = $1 and id = $2`,
      values: [tenantId, id],
    },
  );
  if (row === undefined) throw new NotFound("Webhook");
  await testsOf(call.runtime).take(`${tenantId}:${id}`);
  const keys = await openingKeys(
    call,
    tenantId,
    row.previous === null ? [row.secret] : [row.secret, row.previous],
  );
  const secrets = [keys.open("webhooks", "secret", id, row.secret)];
  if (row.previous !== null) secrets.push(keys.open("webhooks", "previous_secret", id, row.previous));
  const message = {
    id: `msg_${randomBytes(16).toString("hex")}`,
    kind: "webhook.test",
    occurredAt: new Date().toISOString(),
    payload: JSON.stringify({ webhook_id: id }),
  };
  const endpoint = { url: row.url, secrets: secrets.map(signingKey) };
  const deadlineMs = Math.max(100, Math.min(deadlineMsMax, call.runtime.config.requestTimeoutMs - spareMs));
  const attempt = await postEvent(outboundOf(call.runtime), endpoint, message, { deadlineMs });
  return {
    delivered: attempt.outcome === "delivered",
    status_code: attempt.statusCode,
    duration_ms: attempt.durationMs,
    error: attempt.error,
    response: attempt.response,
  };
}
