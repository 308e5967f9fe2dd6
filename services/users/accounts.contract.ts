// Actions on one's own account that need no token: register, verify the e-mail address, reset the password.
import { anyone, onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { deviceHint } from "../shared/device-hint.ts";
import { nullable, optional, withDefault } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { email, flag, id, integer, oneOf, secretText, text } from "../shared/params/rules.ts";
import { roles } from "../shared/roles.ts";
import { profileShape } from "./users.contract.ts";

const subdomain = text({ min: 1, max: 63, trim: true });
const detail = object({ detail: text() }, { name: "Detail" });
const verification = object({ detail: text(), email_verified: flag() }, { name: "VerificationResult" });

/**
 * The registration, shown in the verification mail so that the reader can recognise it. Null when no
 * registration waits to be verified.
 */
const registration = nullable(
  object({
    role: text(),
    department: nullable(text()),
    registered_at: timestamp(),
    ip: nullable(text()),
  }),
);

const mailKinds = ["verify_email", "reset_password"] as const;

export const accountsContract = {
  "accounts.register": {
    summary: "Registers a user with a tenant; the e-mail address has to be verified before signing in.",
    audits: "user.register",
    access: anyone,
    example: {
      email: "ada@demo.example",
      password: "a long and quiet evening",
      full_name: "Ada Lovelace",
      role: "nurse",
      subdomain: "demo",
    },
    refuses: {
      403: ["role_not_registrable", "registration_closed"],
      404: ["not_found"],
      409: ["email_taken"],
    },
    body: {
      email: email(),
      password: secretText({ min: 8, max: 128 }),
      full_name: text({ min: 1, max: 200, trim: true }),
      role: oneOf(roles, { name: "Role" }),
      subdomain,
      department_id: optional(nullable(id())),
    },
    result: profileShape,
  },
  "accounts.verify_email": {
    summary:
      "Verifies an e-mail address by the token from the mail. The registration's password is void unless it is given, or the call comes from where the registration came from.",
    audits: "user.verify_email",
    access: anyone,
    refuses: { 400: ["invalid_token"] },
    query: { token: text({ max: 200, description: "From the mail's link." }) },
    bodyOptional: true,
    example: { password: "a long and quiet evening" },
    body: {
      password: optional(secretText({ max: 1024, description: "The password of the registration." })),
      new_password: optional(
        secretText({ min: 8, max: 128, description: "Takes the place of the registration's password." }),
      ),
    },
    result: verification,
  },
  "accounts.resend_verification": {
    summary: "Sends the verification mail again, if there is such an account. The answer never tells.",
    audits: "user.resend_verification",
    access: anyone,
    body: { email: email(), subdomain },
    example: { email: "doctor@demo.example", subdomain: "demo" },
    header: deviceHint,
    result: verification,
  },
  "accounts.request_reset": {
    summary: "Sends a password reset mail, if there is such an account. The answer never tells.",
    audits: "user.request_reset",
    access: anyone,
    body: { email: email(), subdomain },
    example: { email: "doctor@demo.example", subdomain: "demo" },
    header: deviceHint,
    result: detail,
  },
  "accounts.reset_password": {
    summary: "Completes a password reset by the token from the mail; every session of the user ends.",
    audits: "user.reset_password",
    access: anyone,
    refuses: { 400: ["invalid_token"] },
    example: { token: "the token from the mail", new_password: "another quiet evening" },
    body: { token: text({ max: 200 }), new_password: secretText({ min: 8, max: 128 }) },
    result: detail,
  },
  "accounts.renew_hash": {
    summary: "Takes a dearer hash of the same password.",
    audits: "user.renew_hash",
    access: onlyServices("auth"),
    body: {
      tenant_id: id(),
      user_id: id(),
      user_epoch: integer(),
      new_hash: secretText({ max: 1024 }),
    },
  },
  "accounts.mint_mail_token": {
    summary: "Makes the token for a mail that is about to be sent; null when there is nobody to send it to.",
    audits: "user.mint_mail_token",
    access: onlyServices("mail"),
    body: {
      kind: oneOf(mailKinds),
      subdomain,
      email: email(),
      turn: withDefault(oneOf(["known", "stranger"]), "stranger"),
      request: withDefault(text({ max: 64 }), ""),
    },
    result: nullable(
      object({ token: text(), to: text(), full_name: text(), tenant_name: text(), registration }),
    ),
  },
  "accounts.recipient": {
    summary: "Whom a mail about an account goes to; null when the account is gone.",
    audits: "user.recipient",
    access: onlyServices("mail"),
    repeatable: true,
    body: { user_id: id() },
    result: nullable(object({ to: text(), full_name: text(), tenant_name: text() })),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof accountsContract> {}
}
