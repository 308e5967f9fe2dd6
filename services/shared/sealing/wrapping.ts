// Keys that encrypt keys: BOOT_SECRET wraps the master keys, and a master key wraps the data keys. The format of a wrapped key is
// version 1 | 12 bytes nonce | AES-256-GCM of the key | 16 bytes tag. The additional data names the key, so that no wrapped key
// can be used in place of another.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import { StartError } from "../start-error.ts";
import { nonceBytes, writeNonce } from "./nonces.ts";
import { SealBroken } from "./seal-broken.ts";

const version = 1;
const algorithm = "aes-256-gcm";
const headBytes = 1 + nonceBytes;
const tagBytes = 16;
const gcm = { authTagLength: tagBytes };
export const keyBytes = 32;

function wrap(wrapping: KeyObject, name: string, key: Buffer): Buffer {
  const head = Buffer.alloc(headBytes, version);
  writeNonce(head, 1);
  const cipher = createCipheriv(algorithm, wrapping, head.subarray(1), gcm);
  cipher.setAAD(Buffer.from(name));
  return Buffer.concat([head, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
}

function unwrap(wrapping: KeyObject, name: string, wrapped: Buffer): Buffer {
  if (wrapped.length !== headBytes + keyBytes + tagBytes || wrapped[0] !== version)
    throw new SealBroken("format");
  const decipher = createDecipheriv(algorithm, wrapping, wrapped.subarray(1, headBytes), gcm);
  decipher.setAAD(Buffer.from(name));
  decipher.setAuthTag(wrapped.subarray(headBytes + keyBytes));
  const key = decipher.update(wrapped.subarray(headBytes, headBytes + keyBytes));
  try {
    decipher.final();
  } catch {
    throw new SealBroken("authentication");
  }
  return key;
}

function bootKey(bootSecret: string): KeyObject {
  return createSecretKey(
    Buffer.from(hkdfSync("sha256", bootSecret, "", "records master key wrap v1", keyBytes)),
  );
}
const masterName = (masterVersion: number) => `master|${masterVersion}`;

/** @param key 32 bytes */
export function wrapMasterKey(bootSecret: string, masterVersion: number, key: Buffer): Buffer {
  return wrap(bootKey(bootSecret), masterName(masterVersion), key);
}

/** @throws SealBroken when another BOOT_SECRET wrapped it */
export function unwrapMasterKey(bootSecret: string, masterVersion: number, wrapped: Buffer): KeyObject {
  return createSecretKey(unwrap(bootKey(bootSecret), masterName(masterVersion), wrapped));
}

/** The key as bytes, to wrap it again. @throws SealBroken */
export function unwrapMasterKeyBytes(bootSecret: string, masterVersion: number, wrapped: Buffer): Buffer {
  return unwrap(bootKey(bootSecret), masterName(masterVersion), wrapped);
}

/** Identifies a master key without revealing it, independent of BOOT_SECRET. 32 bytes. */
export function masterFingerprint(key: Buffer): Buffer {
  return createHmac("sha256", key).update("records master key fingerprint v1").digest();
}

export type KeyPurpose = "field" | "index";

export interface DataKeyName {
  tenantId: number;
  purpose: KeyPurpose;
  id: number;
}
const dataName = ({ tenantId, purpose, id }: DataKeyName) => `data|${tenantId}|${purpose}|${id}`;

/** @param key 32 bytes */
export function wrapDataKey(master: KeyObject, name: DataKeyName, key: Buffer): Buffer {
  return wrap(master, dataName(name), key);
}

/** @throws SealBroken */
export function unwrapDataKey(master: KeyObject, name: DataKeyName, wrapped: Buffer): Buffer {
  return unwrap(master, dataName(name), wrapped);
}

/** @param name of the archive; only its own key unwraps under this name */
export function wrapArchiveKey(master: KeyObject, name: string, key: Buffer): Buffer {
  return wrap(master, name, key);
}

/** @throws SealBroken */
export function unwrapArchiveKey(master: KeyObject, name: string, wrapped: Buffer): Buffer {
  return unwrap(master, name, wrapped);
}

/** @returns the result of `unwrapping`, or undefined if the key does not decrypt: for callers that can work without it */
export function undefinedIfBroken<T>(unwrapping: () => T): T | undefined {
  try {
    return unwrapping();
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    return undefined;
  }
}

/** Whether the secret unwraps all master keys. */
export function opensMasterKeys(
  bootSecret: string,
  masters: readonly { version: number; wrapped: Buffer }[],
): boolean {
  return masters.every(
    ({ version: masterVersion, wrapped }) =>
      undefinedIfBroken(() => unwrapMasterKey(bootSecret, masterVersion, wrapped)) !== undefined,
  );
}

/** @throws StartError unless BOOT_SECRET unwraps all master keys */
export function assertBootSecretOpens(
  bootSecret: string,
  masters: readonly { version: number; wrapped: Buffer }[],
): void {
  if (opensMasterKeys(bootSecret, masters)) return;
  throw new StartError(
    "BOOT_SECRET is not the one under which this database's keys are kept: start with that one, without it nothing sealed can be opened.",
  );
}
