// The facts that an audit entry may hold about a change: field names and plain values, never a secret, a token or a patient's
// text. A change may record only these, so the description in the interface always matches the entries.
import { facts, plainValue, type PlainValue, timestamp } from "./params/results.ts";
import { nullable } from "./params/modifiers.ts";
import { flag, integer, listOf, text } from "./params/rules.ts";
import type { ValueOf } from "./params/types.ts";

/** What a remedy did: counts and short texts. */
export type Done = Readonly<Record<string, PlainValue>>;

const done = facts<Done>({}, plainValue(), { description: "What a remedy has done: counts and words." });

const known = {
  fields: listOf(text(), { description: "The names of the fields that were changed." }),
  code: text({ description: "A code for programs: why it was refused, or which fault it was." }),
  reason: text({ description: "A code for programs: why it was done." }),
  error: text({ description: "A code for programs: why it failed." }),
  operator: text({ description: "Who did it from the command line; then `user_id` is null." }),
  times: integer({ description: "How many equal events this entry stands for." }),
  first_at: timestamp({ description: "Time of the first of them." }),
  last_at: timestamp({ description: "Time of the last of them." }),
  limit: text({ description: "The limit that was reached." }),
  bound: integer({ description: "The value of that limit." }),
  day: text({ description: "The day (UTC) to which it applies." }),
  patient_id: nullable(integer()),
  department_id: nullable(integer()),
  head_doctor_id: nullable(integer()),
  role: text({ description: "The role of the new user." }),
  is_active: flag(),
  version: integer({ description: "The patient's version after the change." }),
  count: integer({ description: "How many were read." }),
  events: listOf(text(), { description: "The kinds of events that were asked for." }),
  job_id: text({ description: "The job of a backup or restore." }),
  done,
};

export const auditChangesShape = facts<AuditChanges>(known, plainValue(), {
  name: "AuditChanges",
  description:
    "What was changed, in plain facts that depend on `action`. The fields that recur are named here, none of them has to be there; any other is a text, a number, a boolean, null, or a list of texts and numbers.",
});

type Frozen<T> = T extends readonly (infer I)[] ? readonly I[] : T;
type Known = { readonly [K in keyof typeof known]?: Frozen<ValueOf<(typeof known)[K]>> | undefined };
export type AuditChanges = Known & { readonly [field: string]: PlainValue | Done | undefined };
