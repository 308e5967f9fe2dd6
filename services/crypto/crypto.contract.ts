// What the crypto service offers to the services that seal. No client reaches it.
import { onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { object } from "../shared/params/results.ts";
import { id, integer, listOf, oneOf, text } from "../shared/params/rules.ts";

export const cryptoContract = {
  "crypto.keys": {
    summary: "A tenant's usable keys, unwrapped; made when there are none, or when one is worn.",
    audits: "encryption.keys",
    access: onlyServices("patients"),
    body: { tenant_id: id(), worn_key_id: optional(nullable(id())) },
    result: object({
      keys: listOf(
        object({
          id: integer(),
          purpose: oneOf(["field", "index"]),
          state: oneOf(["primary", "decrypt_only"]),
          key: text(),
        }),
      ),
    }),
  },
} as const satisfies Contract;

declare module "../shared/bus.ts" {
  interface Actions extends ActionsOf<typeof cryptoContract> {}
}
