// One signed POST to a webhook and its outcome, the same for deliveries and tests.
import type { KeyObject } from "node:crypto";
import type { Attempt } from "../../mixins/deliveries/channel.ts";
import type { Outbound, OutboundResult } from "../../mixins/outbound/outbound.ts";
import { withoutTrailing } from "../shared/trailing.ts";
import { answerFault, retryAfterSeconds } from "./answer.rules.ts";
import { signatureOf } from "./sign.ts";

/** The event to send. */
export interface Message {
  /** "msg_…", the same for every attempt. */
  id: string;
  kind: string;
  /** ISO 8601. */
  occurredAt: string;
  /** JSON. */
  payload: string;
  seq?: number;
}

/** The receiver. */
export interface Endpoint {
  url: string;
  /** Newest first. The message is signed with each. */
  secrets: readonly KeyObject[];
}

const responseBytesMax = 1_024;
const userAgent = "records-service-webhooks/1";

/** Sends a message. Never rejects: a failure is in the returned attempt. */
export async function postEvent(
  outbound: Outbound,
  { url, secrets }: Endpoint,
  message: Message,
  options: { signal?: AbortSignal; deadlineMs?: number } = {},
): Promise<Attempt> {
  const { id, kind, occurredAt, payload, seq } = message;
  const body = `{"type":${JSON.stringify(kind)},"timestamp":${JSON.stringify(occurredAt)},"data":${payload}}`;
  const timestamp = Math.floor(Date.now() / 1000);
  const result = await outbound.send({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": userAgent,
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signatureOf(id, timestamp, body, secrets),
      ...(seq === undefined ? {} : { "webhook-sequence": String(seq) }),
    },
    body,
    ...options,
  });
  return toAttempt(result);
}

function toAttempt(result: OutboundResult): Attempt {
  const { durationMs } = result;
  if (!result.ok) {
    const outcome = result.failure === "aborted" ? "unsent" : "failed";
    return { outcome, statusCode: null, durationMs, error: result.failure, response: null };
  }
  const { status, body, retryAfter } = result;
  const error = answerFault(status);
  return {
    outcome: error === null ? "delivered" : status === 410 ? "gone" : "failed",
    statusCode: status,
    durationMs,
    error,
    response: beginningOf(body),
    retryAfterSeconds: retryAfterSeconds(status, retryAfter, Date.now()),
  };
}

/** At most 1 kB of UTF-8, cut at a character, without characters that PostgreSQL cannot store. */
function beginningOf(body: string): string {
  const clean = body.slice(0, responseBytesMax).replaceAll("\0", "\ufffd").toWellFormed();
  const bytes = Buffer.from(clean, "utf8");
  if (bytes.length <= responseBytesMax) return clean;
  return withoutTrailing(bytes.subarray(0, responseBytesMax).toString("utf8"), "\ufffd");
}
