// Asking for a mail. The request only leaves a job, known account or not; whether there is anybody to write to is
// found out when the job runs, so neither the answer nor its time tells. An account has so many mails a day for strangers and
// so many for origins it knows, so a stranger takes no turn from its owner; a job without a turn sends nothing.
import { randomUUID } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { limitMails, limitWishes, type MailKind, takeTurn } from "./account-limits.ts";
import type { accountsContract } from "./accounts.contract.ts";
import { isWhereRegistered } from "./registration.ts";

type Params = ParamsOf<(typeof accountsContract)["accounts.request_reset"]>;

async function request(call: Call<Params>, kind: MailKind): Promise<void> {
  const { device_id: hint } = call.params;
  const subdomain = call.params.subdomain.toLowerCase();
  const email = call.params.email.toLowerCase();
  await limitMails(call);
  const asked = await call.bus("auth.recognise", {
    subdomain,
    email,
    ...(hint === undefined ? {} : { device_id: hint }),
  });
  await limitWishes(call, kind, asked);
  const { ip } = call.caller.facts;
  // Who registered an address and waits for its mail is no stranger to it.
  const registered = kind === "verify_email" && (await isWhereRegistered(call.db, { subdomain, email }, ip));
  const known = asked.known || registered;
  const hasTurn = await takeTurn(call, kind, { known, account: asked.account });
  const turn = hasTurn ? (known ? "known" : "stranger") : "none";
  const job = { subdomain, email, turn, request: randomUUID() };
  await call.db.change(platform, call.caller, (change) => change.enqueue(`mail.${kind}`, job));
}

export async function requestReset(call: Call<Params>): Promise<{ detail: string }> {
  await request(call, "reset_password");
  return { detail: "If there is such an account, a mail with further steps is on its way" };
}

export async function resendVerification(
  call: Call<Params>,
): Promise<{ detail: string; email_verified: boolean }> {
  await request(call, "verify_email");
  return { detail: "If the address awaits verification, a mail is on its way", email_verified: false };
}
