// Deciding about a sign-in whose password was checked, under the locks of what it counts on: a right password opens only if
// it would have been looked at by then, however many were checked at once. Every refusal does the same work.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { auditRefusal } from "../shared/limits/audit-refusal.ts";
import { afterFailure, afterSuccess, type Attempt, standingOf } from "./guesses.rules.ts";
import { type Counts, type CountsOf, holdCounts, keepCounts } from "./held-counts.ts";
import { rememberAddress } from "./known-origins.ts";
import { type Opening, openingEntry, openingStatement } from "./open-session.ts";
import { oneMore } from "./tally.rules.ts";

/** What was found out about the password, before it is asked whether it may be looked at. */
export type Verdict =
  | { is: "right"; opening: Opening }
  /** Right, but the account may not sign in. */
  | { is: "refused"; reason: string }
  | { is: "wrong"; reason: "unknown_account" | "wrong_password" };

export interface Trial {
  verdict: Verdict;
  counts: CountsOf;
  userId: number | undefined;
  origin: string;
  known: boolean;
  /** The client's address, also where a device speaks for it. */
  address: string;
  /** How many failures a day an address has with accounts that do not know it. */
  addressMax: number;
}

/** @returns undefined when the session is open, else the reason for the log; whether it is told is the caller's to say */
export function settleSignIn(call: Call<unknown>, trial: Trial): Promise<string | undefined> {
  const { verdict, counts: of } = trial;
  return call.db.change(platform, call.caller, async (change) => {
    const { nowMs, ...held } = await holdCounts(change, of);
    const attempt: Attempt = { origin: trial.origin, known: trial.known, nowMs };
    const standing = standingOf(held.account, held.address, trial.addressMax, attempt);
    if (standing === "open" && verdict.is === "right") {
      const { opening } = verdict;
      await keepCounts(change, of, { ...held, account: afterSuccess(held.account, attempt) });
      const owner = { tenantId: of.tenantId, userId: opening.account.user_id };
      await rememberAddress(change, owner, trial.address);
      const { text, values } = openingStatement(opening, call.caller);
      await change.execute(text, values);
      change.audit(openingEntry(opening));
      return undefined;
    }
    const isFailure = standing === "open" && verdict.is === "wrong";
    await keepCounts(change, of, isFailure ? counted(held, attempt) : held);
    const reason = standing !== "open" || verdict.is === "right" ? standing : verdict.reason;
    await auditRefusal(change, call.runtime, call.caller, {
      tenantId: of.tenantId,
      action: "auth.login",
      outcome: "denied",
      byTarget: true,
      // Not the e-mail that was typed: people type passwords there.
      ...(trial.userId === undefined ? {} : { target: { type: "user", id: trial.userId } }),
      changes: { reason },
    });
    return reason;
  });
}

function counted({ account, address }: Counts, attempt: Attempt): Counts {
  return {
    account: afterFailure(account, attempt),
    address: attempt.known ? address : oneMore(address, attempt.nowMs),
  };
}
