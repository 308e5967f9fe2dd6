// Posts a checkpoint of the audit log to the operator's address, with headers of the Standard Webhooks
// scheme, where `v1a` denotes an Ed25519 signature. The audit service has signed it, so this process needs no
// key.
import type { Call } from "../shared/bus/bus.ts";
import { deadlineMsMax } from "../../mixins/outbound/outbound.ts";
import { outboundOf } from "../../mixins/outbound/outbound-mixin.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { answerFault } from "./answer.rules.ts";
import type { checkpointsContract } from "./checkpoints.contract.ts";

type Params = ParamsOf<(typeof checkpointsContract)["webhooks.post_checkpoint"]>;

/** Reserve within the request's timeout, so that the answer arrives before the caller gives up. */
const reserveMs = 2_000;

/** "off": no address is configured. `reason` is the status code, or why the post failed. */
export async function postCheckpoint(
  call: Call<Params>,
): Promise<{ state: "taken" | "off" | "failed"; reason: string }> {
  const { id, timestamp, signature, document } = call.params;
  const url = call.runtime.config.auditCheckpointUrl;
  if (url === undefined) return { state: "off", reason: "off" };
  const result = await outboundOf(call.runtime).send({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "records-service-checkpoints/1",
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signature,
    },
    body: document,
    deadlineMs: Math.max(100, Math.min(deadlineMsMax, call.runtime.config.requestTimeoutMs - reserveMs)),
  });
  if (!result.ok) return { state: "failed", reason: result.failure };
  const fault = answerFault(result.status);
  return fault === null
    ? { state: "taken", reason: String(result.status) }
    : { state: "failed", reason: fault };
}
