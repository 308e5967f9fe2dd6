// Decides about a sign-in after its password was checked, under the locks of the failure counts. A right
// password opens a session only if it may still be checked at that moment, however many were checked in
// parallel. Every refusal does the same work.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { auditRefusal } from "../shared/limits/audit-refusal.ts";
import { afterFailure, afterSuccess, type Attempt, lockoutStateOf } from "./lockout.rules.ts";
import { type Counts, type CountKeys, lockCounts, saveCounts } from "./failure-counts.ts";
import { rememberAddress } from "./known-origins.ts";
import { type Opening, openingEntry, openingStatement } from "./open-session.ts";
import { increment } from "./tally.rules.ts";

/** The result of the password check, before it is known whether the limits allow the attempt. */
export type Verdict =
  | { is: "right"; opening: Opening }
  /** The password is right, but the account may not sign in. */
  | { is: "refused"; reason: string }
  | { is: "wrong"; reason: "unknown_account" | "wrong_password" };

/** A sign-in whose password was checked. */
export interface CheckedSignIn {
  verdict: Verdict;
  counts: CountKeys;
  userId: number | undefined;
  origin: string;
  known: boolean;
  /** The client's address, also when a device hint identifies the origin. */
  address: string;
  /** Maximum of failures per day of an address with accounts that do not know it. */
  addressMax: number;
}

/**
 * Opens the session or counts the failure.
 * @returns undefined when the session is open, otherwise the reason for the audit log; the caller decides
 * whether the client may learn it
 */
export function settleSignIn(call: Call<unknown>, signIn: CheckedSignIn): Promise<string | undefined> {
  const { verdict, counts: keys } = signIn;
  return call.db.change(platform, call.caller, async (change) => {
    const { nowMs, ...counts } = await lockCounts(change, keys);
    const attempt: Attempt = { origin: signIn.origin, known: signIn.known, nowMs };
    const state = lockoutStateOf(counts.account, counts.address, signIn.addressMax, attempt);
    if (state === "open" && verdict.is === "right") {
      const { opening } = verdict;
      await saveCounts(change, keys, { ...counts, account: afterSuccess(counts.account, attempt) });
      const owner = { tenantId: keys.tenantId, userId: opening.account.user_id };
      await rememberAddress(change, owner, signIn.address);
      const { text, values } = openingStatement(opening, call.caller);
      await change.execute(text, values);
      change.audit(openingEntry(opening));
      return undefined;
    }
    const isFailure = state === "open" && verdict.is === "wrong";
    await saveCounts(change, keys, isFailure ? withFailure(counts, attempt) : counts);
    const reason = state !== "open" || verdict.is === "right" ? state : verdict.reason;
    await auditRefusal(change, call.runtime, call.caller, {
      tenantId: keys.tenantId,
      action: "auth.login",
      outcome: "denied",
      byTarget: true,
      // Not the e-mail address that was typed: people type passwords there by mistake.
      ...(signIn.userId === undefined ? {} : { target: { type: "user", id: signIn.userId } }),
      changes: { reason },
    });
    return reason;
  });
}

function withFailure({ account, address }: Counts, attempt: Attempt): Counts {
  return {
    account: afterFailure(account, attempt),
    address: attempt.known ? address : increment(address, attempt.nowMs),
  };
}
