// Asking for a mail. The request only leaves a job, known account or not; whether there is anybody to write to is
// found out when the job runs, so neither the answer nor its time tells.
import type { Call } from "../shared/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { limitMail } from "./account-limits.ts";

type Params = { email: string; subdomain: string };

async function request(call: Call<Params>, task: string): Promise<void> {
  const subdomain = call.params.subdomain.toLowerCase();
  const email = call.params.email.toLowerCase();
  await limitMail(call, `${task}:${subdomain}:${email}`);
  await call.db.change(platform, call.caller, (change) => change.enqueue(task, { subdomain, email }));
}

export async function requestReset(call: Call<Params>): Promise<{ detail: string }> {
  await request(call, "mail.reset_password");
  return { detail: "If there is such an account, a mail with further steps is on its way" };
}

export async function resendVerification(
  call: Call<Params>,
): Promise<{ detail: string; email_verified: boolean }> {
  await request(call, "mail.verify_email");
  return { detail: "If the address awaits verification, a mail is on its way", email_verified: false };
}
