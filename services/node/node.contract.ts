// Actions that every process answers about itself, whichever services run in it.
import { onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { logLevels } from "../shared/log-levels.ts";
import { optional } from "../shared/params/modifiers.ts";
import { json, object } from "../shared/params/results.ts";
import { flag, oneOf, text } from "../shared/params/rules.ts";

export const nodeContract = {
  "node.log_level": {
    summary: "How much this process tells in its log, by module; set first where a level is given.",
    audits: "log.set_level",
    access: onlyServices("health"),
    body: { level: optional(oneOf([...logLevels])), module: optional(text({ max: 40 })) },
    result: object({ node: text(), has_module: flag(), levels: json() }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof nodeContract> {}
}
