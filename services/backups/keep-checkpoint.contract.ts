// The action by which the audit service stores signed checkpoints beside the backups.
import { onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { object } from "../shared/params/results.ts";
import { integer, oneOf, text } from "../shared/params/rules.ts";

export const keepCheckpointContract = {
  "backups.keep_checkpoint": {
    summary: "Keeps a signed checkpoint of the audit log in the bucket of the backups.",
    audits: "audit.publish",
    access: onlyServices("audit"),
    body: { number: integer({ min: 1 }), document: text({ min: 2, max: 200_000 }) },
    result: object({
      state: oneOf(["taken", "off", "failed"]),
      reason: text({ description: "Why the store did not take it" }),
    }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof keepCheckpointContract> {}
}
