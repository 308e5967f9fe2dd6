// Requests for a mail. The request only enqueues a job, whether the account exists or not. The job looks up
// the account, so neither the answer nor its time reveals whether the account exists. Mails per account and
// day are counted separately for unknown and known origins, so a stranger cannot use up the owner's
// allowance. A job without allowance sends nothing.
import { randomUUID } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { limitMails, limitMailRequests, type MailKind, spendMailAllowance } from "./account-limits.ts";
import type { accountsContract } from "./accounts.contract.ts";
import { isOriginOfRegistration } from "./registration.ts";

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
  await limitMailRequests(call, kind, asked);
  const { ip } = call.caller.facts;
  // The origin that registered an address and waits for its mail counts as known.
  const registered =
    kind === "verify_email" && (await isOriginOfRegistration(call.db, { subdomain, email }, ip));
  const known = asked.known || registered;
  const hasTurn = await spendMailAllowance(call, kind, { known, account: asked.account });
  const turn = hasTurn ? (known ? "known" : "stranger") : "none";
  const job = { subdomain, email, turn, request: randomUUID() };
  await call.db.change(platform, call.caller, (change) => change.enqueue(`mail.${kind}`, job));
}

/**
 * Requests a password reset mail. The answer is the same whether the account exists or not. @throws
 * TooManyRequests
 */
export async function requestReset(call: Call<Params>): Promise<{ detail: string }> {
  await request(call, "reset_password");
  return { detail: "If there is such an account, a mail with further steps is on its way" };
}

/**
 * Requests another verification mail. The answer is the same whether the account exists or not. @throws
 * TooManyRequests
 */
export async function resendVerification(
  call: Call<Params>,
): Promise<{ detail: string; email_verified: boolean }> {
  await request(call, "verify_email");
  return { detail: "If the address awaits verification, a mail is on its way", email_verified: false };
}
