// Pure decisions about patients: who sees whom, and which dates and numbers are some.
import { Forbidden } from "../shared/errors.ts";
import type { Moment } from "../shared/params/rules.ts";

export interface Viewer {
  departmentId: number | null;
  canSeeAllPatients: boolean;
}

/**
 * The department a patient is put into. Only who sees all patients may name another than their own, or none; whoever is
 * in no department and does not see all has none to put a patient into.
 * @param asked undefined: the viewer's own
 */
export function departmentFor(viewer: Viewer, asked: number | null | undefined): number | null {
  const { departmentId: own, canSeeAllPatients } = viewer;
  if (canSeeAllPatients) return asked === undefined ? own : asked;
  if (own === null) throw new Forbidden("no_department", "You are in no department yet");
  if (asked !== undefined && asked !== own)
    throw new Forbidden("foreign_department", "This department is not yours");
  return own;
}

const msPerDay = 86_400_000;

/** @param now ISO 8601; a day is granted beyond it, as it is tomorrow already somewhere */
export function birthDateFault({ at, dateOnly }: Moment, now: string): string | undefined {
  if (!dateOnly) return "a birth date is a date without a time";
  if (at < "1800") return "a birth date is not before 1800";
  if (Date.parse(at) > Date.parse(now) + msPerDay) return "a birth date is not in the future";
  return undefined;
}

export function phoneFault(phone: string): string | undefined {
  const digits = phone.replace(/\D/g, "").length;
  const plain = /^\+?[\d ()./-]+$/.test(phone);
  return plain && digits >= 3 && digits <= 20
    ? undefined
    : "a phone number has 3 to 20 digits, a + only in front, and otherwise spaces, dots, slashes, dashes and brackets";
}

/** What begins with `prefix` lies from it, included, up to the answer, excluded, in the order of code points. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}
