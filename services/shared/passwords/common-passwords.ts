/** The 10 000 most common passwords of at least 8 characters (shorter ones are refused by their length). */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const countMax = 10_000;
let common: Set<string> | undefined;

/** Case is ignored. The first call reads the list (a few milliseconds). */
export function isCommonPassword(password: string): boolean {
  common ??= readList();
  return common.has(password.toLowerCase());
}

/** Read as a file, not imported: an import would keep all 49 000 entries in memory for good. Most common first. */
function readList(): Set<string> {
  const path = createRequire(import.meta.url).resolve("@zxcvbn-ts/language-common/src/passwords.json");
  // The package ships this file as a list of lower-case strings; a test holds it to that.
  const all = JSON.parse(readFileSync(path, "utf8")) as string[];
  return new Set(all.filter((each) => each.length >= 8).slice(0, countMax));
}
