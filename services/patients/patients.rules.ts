// Pure decisions about patients: departments, dates and phone numbers.
import { Forbidden } from "../shared/errors.ts";
import type { Moment } from "../shared/params/rules.ts";

/** The user's rights concerning patients. */
export interface Viewer {
  departmentId: number | null;
  canSeeAllPatients: boolean;
}

/**
 * The department of a new or changed patient. Only a user who sees all patients may name another department
 * than the own one, or none. A user without a department who does not see all patients cannot create one.
 * @param asked undefined for the viewer's own department
 * @throws Forbidden `no_department` or `foreign_department`
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

/**
 * @param now ISO 8601; one more day is accepted, because of time zones ahead of UTC
 * @returns the reason of a refusal, or undefined
 */
export function birthDateFault({ at, dateOnly }: Moment, now: string): string | undefined {
  if (!dateOnly) return "a birth date is a date without a time";
  if (at < "1800") return "a birth date is not before 1800";
  if (Date.parse(at) > Date.parse(now) + msPerDay) return "a birth date is not in the future";
  return undefined;
}

/** @returns the reason why the text is refused as a phone number, or undefined */
export function phoneFault(phone: string): string | undefined {
  const digits = phone.replace(/\D/g, "").length;
  const plain = /^\+?[\d ()./-]+$/.test(phone);
  return plain && digits >= 3 && digits <= 20
    ? undefined
    : "a phone number has 3 to 20 digits, a + only in front, and otherwise spaces, dots, slashes, dashes and brackets";
}

/** The exclusive upper bound of the texts that begin with `prefix`, in the order of code points. */
export function endOfPrefix(prefix: string): string {
  return `${prefix}\u{10ffff}`;
}
