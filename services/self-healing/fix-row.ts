// Conversion of a fix between its stored and its JSON form, and the hash that shows whether its texts were
// edited.
import { createHash } from "node:crypto";
import { Caller } from "../shared/caller.ts";
import type { KnownFault } from "../../mixins/healing/known-fault.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { toIso } from "../shared/wire.ts";
import type { fixShape } from "./self-healing.contract.ts";

export type Fix = ValueOf<typeof fixShape>;

/** A stored fix. Times are in PostgreSQL's format. */
export type FixRow = Fix;

/** The caller of this service's own changes. */
export const system = Caller.system("self-healing");

/** The columns, for `fixes f`. */
export const fixColumns = `f.id, f.code, f.title, f.problem, f.remedy, f.risk, f.status, f.occurrences, f.healed, f.failed,
  (select count(*)::integer from incidents i where i.fix_id = f.id and i.ended_at is null) as open_incidents,
  f.last_detected_at, f.last_healed_at, f.confirmed_by, f.confirmed_at, f.created_at, f.suspended_reason`;

const isoOrNull = (text: string | null) => (text === null ? null : toIso(text));

/** Converts a row to its JSON form. */
export function toFix(row: FixRow): Fix {
  return {
    ...row,
    last_detected_at: isoOrNull(row.last_detected_at),
    last_healed_at: isoOrNull(row.last_healed_at),
    confirmed_at: isoOrNull(row.confirmed_at),
    created_at: toIso(row.created_at),
  };
}

/** The texts of a fix that can be edited. */
export type Texts = Pick<KnownFault, "title" | "problem" | "remedy" | "risk">;

/** SHA-256 of the texts. */
export function hashOf({ title, problem, remedy, risk }: Texts): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([title, problem, remedy, risk]))
    .digest();
}
