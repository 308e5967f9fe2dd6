/**
 * Password hashes as PHC strings, `$argon2id$v=19$m=<KiB>,t=<passes>,p=<lanes>$<salt>$<tag>`, base64 without
 * padding. Cost parameters are read from the string within bounds, so that a manipulated row cannot cost minutes of
 * CPU or gigabytes of memory.
 */
import { randomBytes } from "node:crypto";

export interface Cost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
}

export interface Phc extends Cost {
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly tag: Uint8Array<ArrayBuffer>;
}

/** OWASP's minimum for argon2id; about 20 ms of one core. */
export const currentCost: Cost = { memoryKib: 19_456, passes: 2, lanes: 1 };
export const saltBytes = 16;
export const tagBytes = 32;

const memoryKibMax = 131_072;
const passesMax = 10;
const lanesMax = 4;
const pattern =
  /^\$argon2id\$v=19\$m=(\d{1,6}),t=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** @returns the parts of a hash; undefined if it is malformed or beyond the bounds */
export function parsePhc(text: string): Phc | undefined {
  const [, memory, passes, lanes, salt = "", tag = ""] = pattern.exec(text) ?? [];
  const cost = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) };
  const ok =
    cost.memoryKib <= memoryKibMax &&
    cost.memoryKib >= 8 * cost.lanes &&
    cost.passes >= 1 &&
    cost.passes <= passesMax &&
    cost.lanes >= 1 &&
    cost.lanes <= lanesMax;
  // Copied: a slice of Node's shared buffer pool would send neighbouring bytes to the worker.
  return ok
    ? {
        ...cost,
        salt: Uint8Array.from(Buffer.from(salt, "base64")),
        tag: Uint8Array.from(Buffer.from(tag, "base64")),
      }
    : undefined;
}

/** @returns the PHC string of a hash */
export function formatPhc({ memoryKib, passes, lanes, salt, tag }: Phc): string {
  return `$argon2id$v=19$m=${memoryKib},t=${passes},p=${lanes}$${base64(salt)}$${base64(tag)}`;
}

/**
 * Whether guessing the password of a hash costs less than with today's parameters: less memory times passes, or a shorter salt or
 * tag. False for a higher cost, and for a text that is not a hash (no password matches it).
 */
export function isCheaper(text: string): boolean {
  const phc = parsePhc(text);
  if (!phc) return false;
  const work = ({ memoryKib, passes }: Cost) => memoryKib * passes;
  return work(phc) < work(currentCost) || phc.salt.length < saltBytes || phc.tag.length < tagBytes;
}

/** @returns a hash that no password matches, a new one each time: for an account without a password */
export function closedHash(): string {
  return formatPhc({
    ...currentCost,
    salt: Uint8Array.from(randomBytes(saltBytes)),
    tag: Uint8Array.from(randomBytes(tagBytes)),
  });
}

const dummy = closedHash();

/** @returns a hash that no password matches, at today's cost: with it an unknown account costs the same work as a known one */
export function dummyHash(): string {
  return dummy;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}
