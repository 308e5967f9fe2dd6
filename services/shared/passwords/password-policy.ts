/**
 * Which passwords are refused for their content. The schema checks the length (8 to 128); there are no
 * composition rules (NIST SP 800-63B).
 */
import { isCommonPassword } from "./common-passwords.ts";

export interface PasswordOwner {
  readonly email: string;
  readonly fullName: string;
  readonly subdomain: string;
  readonly tenantName?: string | undefined;
}

const othersNeeded = 4;
const namePartLengthMin = 4;
const keyboardRows = ["qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm"];

/** @returns why the password is refused, as a sentence; undefined if it is accepted */
export function passwordFault(password: string, about: PasswordOwner): string | undefined {
  const text = fold(password);
  if (isRepeated(text)) return "The password must not be one character repeated.";
  if (isRun(text)) return "The password must not be a plain run of characters.";
  if (isCommonPassword(password) || isCommonPassword(text))
    return "The password is among the 10 000 most common ones.";
  const [localPart = ""] = about.email.split("@");
  if (isMadeOf(text, [about.email, localPart])) return "The password must not be made of the e-mail address.";
  if (isMadeOf(text, nameWords(about.fullName))) return "The password must not be made of the name.";
  if (isMadeOf(text, [about.subdomain, ...nameWords(about.tenantName ?? "")]))
    return "The password must not be made of the tenant's name or subdomain.";
  const everything = [about.email, localPart, about.subdomain, ...nameWords(about.fullName)];
  return isMadeOf(text, everything)
    ? "The password must not be made of the e-mail address, the name and the subdomain."
    : undefined;
}

const fold = (text: string) => text.normalize("NFKC").toLowerCase();
const lettersOf = (text: string) => text.replace(/[^\p{L}\p{M}]/gu, "");
const lettersAndDigitsOf = (text: string) => text.replace(/[^\p{L}\p{M}\p{N}]/gu, "");

/** @returns the whole name, and its parts of at least 4 letters */
function nameWords(name: string): string[] {
  const parts = name.split(/[^\p{L}\p{M}]+/u).filter((each) => Array.from(each).length >= namePartLengthMin);
  return [name, ...parts];
}

/** Whether it has the same letters as one of the words, or fewer than 4 characters besides the words that it contains. */
function isMadeOf(password: string, words: readonly string[]): boolean {
  const folded = words.map(fold);
  const letters = lettersOf(password);
  if (letters.length >= 2 && folded.some((word) => lettersOf(word) === letters)) return true;
  const forms = [...new Set(folded.flatMap((word) => [word, lettersAndDigitsOf(word), lettersOf(word)]))];
  // Longest first: if a part were removed first, the whole word would no longer be found. A NUL separates the remaining parts.
  const present = forms.filter((form) => form.length >= 2).sort((a, b) => b.length - a.length);
  const left = present.reduce((rest, form) => rest.replaceAll(form, "\0"), password);
  return left !== password && Array.from(left.replaceAll("\0", "")).length < othersNeeded;
}

function isRepeated(text: string): boolean {
  return new Set(text).size === 1;
}

/**
 * Whether the characters follow each other in the alphabet, in the digits (also 9 and 0) or on a keyboard row, in either
 * direction.
 */
function isRun(text: string): boolean {
  const points = Array.from(text, (each) => each.codePointAt(0) ?? 0);
  const steps = points.slice(1).map((point, index) => point - (points[index] ?? 0));
  const digits = /^\d+$/.test(text);
  const steady = (by: number) => steps.every((step) => step === by || (digits && step === -9 * by));
  if (text.length > 1 && (steady(1) || steady(-1))) return true;
  const backwards = Array.from(text).reverse().join("");
  return keyboardRows.some((row) => row.repeat(2).includes(text) || row.repeat(2).includes(backwards));
}
