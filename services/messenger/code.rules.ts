// Codes that link a chat: eight letters that are hard to confuse and form no words, in two groups of four.
import { createHmac } from "node:crypto";

const letters = "BCDFGHJKLMNPQRSTVWXZ";
const length = 8;

/** @param draw returns a uniformly distributed integer from 0 to below its argument @returns "XXXX-XXXX" */
export function newCode(draw: (below: number) => number): string {
  const code = Array.from({ length }, () => letters.charAt(draw(letters.length))).join("");
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/**
 * Normalises a typed code.
 * @returns the eight letters, or undefined for an invalid code; case, hyphens and spaces do not matter
 */
export function readCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s\p{Pd}]/gu, "").toUpperCase();
  if (code.length !== length) return undefined;
  return Array.from(code).every((letter) => letters.includes(letter)) ? code : undefined;
}

/**
 * A keyed hash, because there are so few codes that a plain hash could be reversed.
 * @param code eight letters
 */
export function hashCode(key: Buffer, code: string): Buffer {
  return createHmac("sha256", key).update(code).digest();
}
