// The action by which the audit service posts signed checkpoints to an address that the operator has set.
import { onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { object } from "../shared/params/results.ts";
import { integer, oneOf, text } from "../shared/params/rules.ts";

export const checkpointsContract = {
  "webhooks.post_checkpoint": {
    summary: "Posts a signed checkpoint of the audit log to the address that the operator has set.",
    audits: "audit.publish",
    access: onlyServices("audit"),
    body: {
      id: text({ min: 1, max: 100, pattern: /^[\w.-]+$/ }),
      timestamp: integer({ min: 0, description: "Seconds since 1970" }),
      signature: text({ min: 1, max: 200, pattern: /^v1a,[A-Za-z0-9+/=]+$/ }),
      document: text({ min: 2, max: 200_000 }),
    },
    result: object({
      state: oneOf(["taken", "off", "failed"]),
      reason: text({ description: "What it was answered, or why there was no answer" }),
    }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof checkpointsContract> {}
}
