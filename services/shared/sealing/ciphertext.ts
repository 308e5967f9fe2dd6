// The format of one encrypted text: version 1 | key id (uint32, big endian) | 12 bytes nonce | AES-256-GCM ciphertext | 16 bytes
// tag. The additional data says where the text belongs. It is not stored, so a text that was moved elsewhere fails to decrypt.
import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import { nonceBytes, writeNonce } from "./nonces.ts";
import { SealBroken } from "./seal-broken.ts";

const version = 1;
const algorithm = "aes-256-gcm";
const nonceAt = 5;
const headBytes = nonceAt + nonceBytes;
const tagBytes = 16;
const gcm = { authTagLength: tagBytes };

/** @param keyId 1..2^32-1, stored in the bytes @param place the additional data */
export function seal(keyId: number, key: KeyObject, place: Uint8Array, text: string): Buffer {
  const textBytes = Buffer.byteLength(text, "utf8");
  const sealed = Buffer.allocUnsafe(headBytes + textBytes + tagBytes);
  sealed[0] = version;
  sealed.writeUInt32BE(keyId, 1);
  writeNonce(sealed, nonceAt);
  const cipher = createCipheriv(algorithm, key, sealed.subarray(nonceAt, headBytes), gcm);
  cipher.setAAD(place);
  cipher.update(text, "utf8").copy(sealed, headBytes);
  cipher.final();
  cipher.getAuthTag().copy(sealed, headBytes + textBytes);
  return sealed;
}

/** @throws SealBroken (authentication) unless these bytes were encrypted with this key for this place */
export function open(key: KeyObject, place: Uint8Array, sealed: Buffer): string {
  keyIdOf(sealed);
  const textEnd = sealed.length - tagBytes;
  // A view is cheaper to create than a Buffer of the same bytes.
  const part = (from: number, to: number) =>
    new Uint8Array(sealed.buffer, sealed.byteOffset + from, to - from);
  const decipher = createDecipheriv(algorithm, key, part(nonceAt, headBytes), gcm);
  decipher.setAAD(place);
  decipher.setAuthTag(part(textEnd, sealed.length));
  const text = decipher.update(part(headBytes, textEnd));
  try {
    decipher.final();
  } catch {
    throw new SealBroken("authentication");
  }
  return text.toString("utf8");
}

/** @returns the id of the key in `sealed` @throws SealBroken (format) */
export function keyIdOf(sealed: Buffer): number {
  if (sealed.length < headBytes + tagBytes || sealed[0] !== version) throw new SealBroken("format");
  return sealed.readUInt32BE(1);
}

/**
 * @returns the id of the key, even if the rest of the bytes is malformed: the database counts such a row as using that key. Null
 * if there are too few bytes.
 */
export function namedKey(sealed: Buffer): number | null {
  return sealed.length >= nonceAt ? sealed.readUInt32BE(1) : null;
}
