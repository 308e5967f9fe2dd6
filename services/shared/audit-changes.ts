// What an audit entry says of what was changed: field names and plain facts, never a secret, a token or a patient's text.
// A change may note only what this holds, so the interface's description and what is written cannot part.
import { facts, plainValue, type PlainValue, timestamp } from "./params/results.ts";
import { nullable } from "./params/modifiers.ts";
import { flag, integer, listOf, text } from "./params/rules.ts";
import type { ValueOf } from "./params/types.ts";

/** What a remedy has done: counts and words. */
export type Done = Readonly<Record<string, PlainValue>>;

const done = facts<Done>({}, plainValue(), { description: "What a remedy has done: counts and words." });

const known = {
  fields: listOf(text(), { description: "The names of the fields that were changed." }),
  code: text({ description: "Why it was refused, or which fault it was: a word for programs." }),
  reason: text({ description: "Why it was done: a word for programs." }),
  error: text({ description: "Why it failed: a word for programs." }),
  operator: text({ description: "Who did it from the command line; then `user_id` is null." }),
  times: integer({ description: "How many of the same kind this entry stands for." }),
  first_at: timestamp({ description: "When the first of them came." }),
  last_at: timestamp({ description: "When the last of them came." }),
  limit: text({ description: "The bound that was reached." }),
  bound: integer({ description: "How much that bound allows." }),
  day: text({ description: "The day (UTC) to which it applies." }),
  patient_id: nullable(integer()),
  department_id: nullable(integer()),
  head_doctor_id: nullable(integer()),
  role: text({ description: "Of the user who was created." }),
  is_active: flag(),
  version: integer({ description: "The patient's version after the change." }),
  count: integer({ description: "How many were read." }),
  events: listOf(text(), { description: "The kinds of events that were asked for." }),
  job_id: text({ description: "Of a backup or restore." }),
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
