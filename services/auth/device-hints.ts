// Device hints distinguish a returning client from strangers. The answer to a sign-in contains a hint; a
// client that sends it with the next sign-in is recognised from any address. A hint grants nothing: the
// password is still required and its failures count. A hint consists of a random device name, its expiry and
// a MAC over both and the account, with a key derived from JWT_SECRET. So nothing is stored, the hint reveals
// nothing about the account, and it is invalid for other accounts.
import {
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";

const lifeSeconds = 180 * 86_400;
const macBytes = 16;
const form = /^([\w-]{16})\.(\d{10})\.([\w-]{22})$/;

/** The account of a hint. */
export interface Owner {
  tenantId: number;
  userId: number;
}

/** Creates and verifies device hints, which are valid for 180 days. */
export class DeviceHints {
  readonly #current: KeyObject;
  readonly #keys: readonly KeyObject[];

  /** @param previousSecrets their hints are still accepted; only `secret` creates new ones */
  constructor(secret: string, previousSecrets: readonly string[]) {
    this.#current = keyOf(secret);
    this.#keys = [this.#current, ...previousSecrets.map(keyOf)];
  }

  /** Creates a hint. @param device the name of a recognised device; a new random name by default */
  issue(owner: Owner, nowMs: number, device = randomBytes(12).toString("base64url")): string {
    const ends = String(Math.floor(nowMs / 1000) + lifeSeconds);
    return `${device}.${ends}.${mac(this.#current, owner, device, ends).toString("base64url")}`;
  }

  /** @returns the device's name, or undefined unless the hint is valid now for this account */
  deviceOf(hint: string | undefined, owner: Owner, nowMs: number): string | undefined {
    const [, device = "", ends = "", given = ""] = form.exec(hint ?? "") ?? [];
    const sent = Buffer.from(given, "base64url");
    // The MAC is also computed for a malformed hint, so that the time is the same.
    const right = this.#keys.filter((key) => {
      const made = mac(key, owner, device, ends);
      return made.length === sent.length && timingSafeEqual(made, sent);
    });
    return right.length > 0 && Number(ends) * 1000 > nowMs ? device : undefined;
  }
}

function keyOf(secret: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", "records device hint v1", 32)));
}

function mac(key: KeyObject, { tenantId, userId }: Owner, device: string, ends: string): Buffer {
  const text = `${tenantId}|${userId}|${device}|${ends}`;
  return createHmac("sha256", key).update(text).digest().subarray(0, macBytes);
}
