// What a client shows to be told apart from strangers: an answer to a sign-in carries a hint, and who sends it back with the
// next one is known, from whatever address. It opens nothing: the password is asked for all the same, and its failures count.
// A hint is a device's random name, its end, and a MAC over these and the account, under a key of JWT_SECRET. So nothing of
// it is stored, it says nothing of the account, and is worth nothing with another one.
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

export interface Owner {
  tenantId: number;
  userId: number;
}

export class DeviceHints {
  readonly #current: KeyObject;
  readonly #keys: readonly KeyObject[];

  /** @param previousSecrets their hints still count; only `secret` makes new ones */
  constructor(secret: string, previousSecrets: readonly string[]) {
    this.#current = keyOf(secret);
    this.#keys = [this.#current, ...previousSecrets.map(keyOf)];
  }

  /** @param device the name of a device that was known already; a new one is drawn without */
  issue(owner: Owner, nowMs: number, device = randomBytes(12).toString("base64url")): string {
    const ends = String(Math.floor(nowMs / 1000) + lifeSeconds);
    return `${device}.${ends}.${mac(this.#current, owner, device, ends).toString("base64url")}`;
  }

  /** @returns the device's name, or undefined for anything but a hint of ours for this account that has not ended */
  deviceOf(hint: string | undefined, owner: Owner, nowMs: number): string | undefined {
    const [, device = "", ends = "", given = ""] = form.exec(hint ?? "") ?? [];
    const sent = Buffer.from(given, "base64url");
    // Compared also where the form is wrong, so that the work is the same.
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
