// Actions for signing in and out, and for checking tokens and sessions.
import { anyone, onlyServices, signedIn } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { inHeader, nullable, optional } from "../shared/params/modifiers.ts";
import { object } from "../shared/params/results.ts";
import { flag, id, integer, listOf, oneOf, secretText, text } from "../shared/params/rules.ts";
import { deviceHint } from "../shared/device-hint.ts";
import { roles } from "../shared/roles.ts";

const holder = object({
  user_id: integer(),
  tenant_id: integer(),
  role: oneOf(roles, { name: "Role" }),
  department_id: nullable(integer()),
  can_see_all_patients: flag(),
  frozen: flag({ description: "The tenant is being restored" }),
  session_id: text(),
});

export const authContract = {
  "auth.login": {
    summary: "Signs in with e-mail, password and tenant subdomain.",
    audits: "auth.login",
    access: anyone,
    refuses: {
      401: ["invalid_credentials"],
      403: ["account_pending", "account_blocked", "email_not_verified"],
    },
    body: {
      email: text({ max: 320, trim: true }),
      password: secretText({ max: 1024 }),
      subdomain: text({ max: 200, trim: true }),
    },
    header: deviceHint,
    result: object(
      {
        access_token: text(),
        token_type: text(),
        tenant_id: integer(),
        role: oneOf(roles, { name: "Role" }),
        demo_mode: flag(),
      },
      { name: "LoginResult" },
    ),
    answerHeaders: {
      device_id: inHeader(
        text({ description: "Keep it for this account, and send it with the next sign-in." }),
        "X-Device-Id",
      ),
    },
  },
  "auth.logout": {
    summary: "Ends the session of the token that is used.",
    audits: "auth.logout",
    access: signedIn,
  },
  "auth.authenticate": {
    summary:
      "Who holds this token, read from the present state of session, user and tenant; 401 when nobody.",
    audits: "auth.authenticate",
    access: onlyServices("api-gateway"),
    repeatable: true,
    // Accepts any length that a header may have: a malformed token is answered by 401, not by 422.
    body: { token: text({ max: 16_384 }) },
    result: holder,
  },
  "auth.authenticate_all": {
    summary:
      "The same of several tokens, in their order; who is nobody has no holder, and unsure is what another process may know.",
    audits: "auth.authenticate",
    // Of requests that came together: see services/api-gateway/token-questions.ts.
    access: onlyServices("api-gateway"),
    repeatable: true,
    body: { tokens: listOf(text({ max: 16_384 }), { max: 32 }) },
    result: listOf(object({ holder: nullable(holder), unsure: flag() })),
  },
  "auth.live_sessions": {
    summary: "Whose these sessions are, read from the present state; those that have ended are left out.",
    audits: "auth.authenticate",
    // Called by the bus for a call that has waited: see services/shared/session-check.ts.
    access: onlyServices("bus"),
    repeatable: true,
    body: { session_ids: listOf(text({ max: 36 }), { max: 100 }) },
    result: listOf(holder),
  },
  "auth.recognise": {
    summary:
      "Whether an account knows where this call comes from, and under which names its wishes are counted.",
    audits: "auth.recognise",
    access: onlyServices("accounts"),
    repeatable: true,
    body: { subdomain: text(), email: text(), device_id: optional(text()) },
    result: object({ known: flag(), account: text(), origin: text(), address: text() }),
  },
  "auth.check_password": {
    summary: "Whether this is the account's password; counts nothing, so only for whoever may not guess.",
    audits: "auth.check_password",
    access: onlyServices("accounts", "users"),
    repeatable: true,
    body: { tenant_id: id(), user_id: id(), password: secretText({ max: 1024 }) },
    result: object({ is_right: flag() }),
  },
  "auth.remember_origin": {
    summary: "Lets an account know the address of this call as one of its own.",
    audits: "auth.remember_origin",
    access: onlyServices("accounts"),
    body: { tenant_id: id(), user_id: id() },
  },
  "auth.clear_lockout": {
    summary: "Forgets the failed sign-ins of an account.",
    audits: "auth.clear_lockout",
    access: onlyServices("users", "accounts"),
    body: { tenant_id: id(), user_id: id() },
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof authContract> {}
}
