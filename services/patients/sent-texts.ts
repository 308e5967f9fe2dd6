// Collects the fields of a request that will be sealed.
import type { Moment } from "../shared/params/rules.ts";
import type { PatientTexts } from "./patient-row.ts";

/** @returns the fields that were sent; null for a field to be emptied */
export function sentTexts(params: {
  full_name?: string;
  birth_date?: Moment | null;
  phone?: string | null;
  notes?: string | null;
}): Partial<PatientTexts> {
  const { full_name, birth_date: birth, phone, notes } = params;
  const birthDate = birth === undefined || birth === null ? birth : birth.at.slice(0, 10);
  const sent = { full_name, birth_date: birthDate, phone, notes };
  return Object.fromEntries(Object.entries(sent).filter(([, text]) => text !== undefined));
}
