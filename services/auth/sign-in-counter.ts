// The metric of sign-ins by outcome.
import { perRuntime } from "../shared/per-runtime.ts";

/** The refusals have the same names in the audit log. */
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

/** Returns the function that counts one outcome; it does nothing when metrics are switched off. */
export const countSignIn = perRuntime(
  ({ metrics }) =>
    metrics?.counter(
      "records_sign_ins_total",
      "Sign-ins by outcome (ok, or why it was refused)",
      "outcome",
      outcomes,
    ) ?? (() => {}),
);
