// One sealed text as bytes: version 1 | key id (uint32, big endian) | 12 bytes nonce | AES-256-GCM ciphertext | 16 bytes
// tag. The additional data says where it belongs; it is not stored, so bytes opened elsewhere do not open.
import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import { nonceBytes, writeNonce } from "./nonces.ts";
import { SealBroken } from "./seal-broken.ts";

const version = 1;
const algorithm = "aes-256-gcm";
const nonceAt = 5;
const headBytes = nonceAt + nonceBytes;
const tagBytes = 16;
const gcm = { authTagLength: tagBytes };

/** @param keyId 1..2^32-1, written into the bytes; `place`: the additional data */
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

/** @throws SealBroken (authentication) unless these bytes were sealed with this key for this place */
export function open(key: KeyObject, place: Uint8Array, sealed: Buffer): string {
  keyIdOf(sealed);
  const textEnd = sealed.length - tagBytes;
  // A view is cheaper to make than a Buffer of the same bytes.
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

/** The id of the key that `sealed` names. @throws SealBroken (format) */
export function keyIdOf(sealed: Buffer): number {
  if (sealed.length < headBytes + tagBytes || sealed[0] !== version) throw new SealBroken("format");
  return sealed.readUInt32BE(1);
}

/** Also of bytes that are otherwise of no form: for the database their row names the key all the same. Null of fewer. */
export function namedKey(sealed: Buffer): number | null {
  return sealed.length >= nonceAt ? sealed.readUInt32BE(1) : null;
}
