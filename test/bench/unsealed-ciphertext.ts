// The shape of a sealed text without the cryptography: the same bytes around it, the text in clear between them. For
// the service that the list is compared with (unsealed-hook.ts), and for the rows that it reads.

import type * as real from "../../services/shared/sealing/ciphertext.ts";

const headBytes = 17;
const tagBytes = 16;

/** @returns a sealed text's bytes with `text` in place of what is encrypted */
export function unsealed(sealed: Buffer, text: string): Buffer {
  return Buffer.concat([sealed.subarray(0, headBytes), Buffer.from(text), sealed.subarray(-tagBytes)]);
}

export function seal(keyId: number, _key: unknown, _place: unknown, text: string): Buffer {
  const head = Buffer.alloc(headBytes, 1);
  head.writeUInt32BE(keyId, 1);
  return Buffer.concat([head, Buffer.from(text), Buffer.alloc(tagBytes)]);
}

export function open(_key: unknown, _place: unknown, sealed: Buffer): string {
  return sealed.toString("utf8", headBytes, sealed.length - tagBytes);
}

export function keyIdOf(sealed: Buffer): number {
  return sealed.readUInt32BE(1);
}

export function namedKey(sealed: Buffer): number {
  return keyIdOf(sealed);
}

// An export that the service's own file has and this one lacks fails `npm run check`, not the bench.
({ seal, open, keyIdOf, namedKey }) satisfies {
  [Name in keyof typeof real]: (...given: Parameters<(typeof real)[Name]>) => ReturnType<(typeof real)[Name]>;
};
