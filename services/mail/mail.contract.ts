// Actions of the mail service. Sending needs no action: a change enqueues a job in its own transaction.
import { onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { object } from "../shared/params/results.ts";
import { email, flag } from "../shared/params/rules.ts";

export const mailContract = {
  "mail.check": {
    summary:
      "Whether mails can be sent: the server answers and takes the login, or the folder can be written to.",
    audits: "mail.check",
    access: onlyServices("health"),
    repeatable: true,
    result: object({ ok: flag() }),
  },
  "mail.delivers": {
    summary: "Whether the mail server delivers to an address with such letters.",
    audits: "mail.delivers",
    access: onlyServices("accounts"),
    repeatable: true,
    body: { email: email() },
    result: object({ ok: flag() }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof mailContract> {}
}
