// How sign-ins ended, for who watches.
import { perRuntime } from "../shared/per-runtime.ts";

/** The reasons of refusals are those that the audit log names. */
const outcomes = [
  "ok",
  "unknown_account",
  "wrong_password",
  "account_pending",
  "account_blocked",
  "email_not_verified",
  "locked_out",
  "account_spent",
  "address_spent",
  "rate_limited",
];

export const countSignIn = perRuntime(
  ({ metrics }) =>
    metrics?.counter(
      "records_sign_ins_total",
      "Sign-ins by outcome (ok, or why it was refused)",
      "outcome",
      outcomes,
    ) ?? (() => {}),
);
