// The key that signs checkpoints: Ed25519, derived from a secret, so that only the secret must be kept. The
// public key may be published; its id is the SHA-256 of the key in the format of `openssl pkey -pubin
// -outform DER`.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/** The prefix of a private key in PKCS #8 before its 32 bytes (RFC 8410). */
const pkcs8Start = Buffer.from("302e020100300506032b657004220420", "hex");
const seedBytes = 32;

/** Public keys by their ids. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** The signing key of an installation. */
export class SigningKey {
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly #private: KeyObject;

  constructor(secret: string) {
    const seed = Buffer.from(hkdfSync("sha256", secret, "", "records audit checkpoints v1", seedBytes));
    this.#private = createPrivateKey({
      key: Buffer.concat([pkcs8Start, seed]),
      format: "der",
      type: "pkcs8",
    });
    seed.fill(0);
    this.publicKey = createPublicKey(this.#private);
    this.id = keyIdOf(this.publicKey);
  }

  /** The public key in PEM. */
  get publicText(): string {
    return this.publicKey.export({ format: "pem", type: "spki" }).toString();
  }

  /** @returns the signature in base64 */
  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#private).toString("base64");
  }
}

/** The id of a public key: SHA-256, in hex. */
export function keyIdOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ format: "der", type: "spki" }))
    .digest("hex");
}

/** @param pem a public key @returns undefined unless it is an Ed25519 key */
export function readPublicKey(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the signature is valid. @param signature base64 */
export function isSigned(text: string, signature: string, key: KeyObject): boolean {
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
