// Codes that link a chat: eight letters that cannot be taken for others and spell no word, in two groups of four.
import { createHmac } from "node:crypto";

const letters = "BCDFGHJKLMNPQRSTVWXZ";
const length = 8;

/** @param draw answers a whole number from 0 to below its argument, each as likely. @returns "XXXX-XXXX" */
export function newCode(draw: (below: number) => number): string {
  const code = Array.from({ length }, () => letters.charAt(draw(letters.length))).join("");
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** @returns the eight letters, or undefined for what can be no code; case, dashes and spaces do not matter */
export function readCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s\p{Pd}]/gu, "").toUpperCase();
  if (code.length !== length) return undefined;
  return Array.from(code).every((letter) => letters.includes(letter)) ? code : undefined;
}

/** Keyed: the hash alone does not give away the code, of which there are too few. @param code eight letters */
export function hashCode(key: Buffer, code: string): Buffer {
  return createHmac("sha256", key).update(code).digest();
}
