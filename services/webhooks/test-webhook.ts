// Sends one webhook.test while the caller waits. It is not a delivery and not in the log.
import { randomBytes } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import { NotFound, Unavailable } from "../shared/errors.ts";
import { deadlineMsMax } from "../../mixins/outbound/outbound.ts";
import { outboundOf } from "../../mixins/outbound/outbound-mixin.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { RateLimit } from "../shared/rate-limits.ts";
import { openingKeys } from "../shared/sealing/ask-keys.ts";
import type { TestResult } from "./deliveries.contract.ts";
import { tenantOf } from "./read-webhooks.ts";
import { openSecrets, type SealedSecrets } from "./open-secrets.ts";
import { postEvent } from "./post-event.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Reserve within the request's timeout, so that the answer arrives before the caller gives up. */
const reserveMs = 2_000;

/** Ten a minute per webhook: enough for a person, too few for scanning. */
const testsOf = perRuntime(({ database }) => new RateLimit(database, "webhook_test", 10, 60));

/** @throws NotFound, Unavailable `sealed_field_unreadable`, TooManyRequests */
export async function testWebhook(call: Call<{ webhook_id: number }>): Promise<TestResult> {
  const { webhook_id: id } = call.params;
  const tenantId = tenantOf(call);
  const row = await call.db.readOne<SealedSecrets & RowOf<"webhooks", "url">>(
    { tenantId },
    {
      name: "webhooks.to_test",
      text: `select id, url, secret, case when previous_secret_until > now() then previous_secret end as previous_secret
        from webhooks where tenant_id = $1 and id = $2`,
      values: [tenantId, id],
    },
  );
  if (row === undefined) throw new NotFound("Webhook");
  await testsOf(call.runtime).take(`${tenantId}:${id}`);
  const { url, secret, previous_secret: previous } = row;
  const keys = await openingKeys(call, tenantId, previous === null ? [secret] : [secret, previous]);
  const { secrets, unreadable } = openSecrets(keys, row);
  if (unreadable.includes("secret")) {
    const sentence = "The secret of this webhook cannot be opened; give it a new one";
    throw new Unavailable("sealed_field_unreadable", sentence);
  }
  const message = {
    id: `msg_${randomBytes(16).toString("hex")}`,
    kind: "webhook.test",
    occurredAt: new Date().toISOString(),
    payload: JSON.stringify({ webhook_id: id }),
  };
  const deadlineMs = Math.max(100, Math.min(deadlineMsMax, call.runtime.config.requestTimeoutMs - reserveMs));
  const attempt = await postEvent(outboundOf(call.runtime), { url, secrets }, message, { deadlineMs });
  return {
    delivered: attempt.outcome === "delivered",
    status_code: attempt.statusCode,
    duration_ms: attempt.durationMs,
    error: attempt.error,
    response: attempt.response,
  };
}
