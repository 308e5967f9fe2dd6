/** The 10,000 most common passwords of at least 8 characters (the length rule refuses shorter ones). */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const countMax = 10_000;
let common: Set<string> | undefined;

/** Ignores case. The first call reads the list (a few milliseconds). */
export function isCommonPassword(password: string): boolean {
  common ??= readList();
  return common.has(password.toLowerCase());
}

/** Read as a file, because an import would keep all 49,000 entries in memory. Most common first. */
function readList(): Set<string> {
  const path = createRequire(import.meta.url).resolve("@zxcvbn-ts/language-common/src/passwords.json");
  // The package contains this file as a list of lower-case strings; a test checks it.
  const all = JSON.parse(readFileSync(path, "utf8")) as string[];
  return new Set(all.filter((each) => each.length >= 8).slice(0, countMax));
}
