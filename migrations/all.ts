// Append-only: a migration that has run anywhere is never edited, only followed by another.
import { Foundation } from "./0001-foundation.ts";

export const migrations = [{ name: "0001-foundation", class: Foundation }];
