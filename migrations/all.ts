// Append-only: a migration that has run anywhere is never edited, only followed by another.
import { Foundation } from "./0001-foundation.ts";
import { Patients } from "./0002-patients.ts";

export const migrations = [
  { name: "0001-foundation", class: Foundation },
  { name: "0002-patients", class: Patients },
];
