// The key that signs checkpoints: Ed25519, made of a secret, so that there is nothing more to keep than that. Its public half
// is for everybody; its id is the SHA-256 of that half as `openssl pkey -pubin -outform DER` writes it.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/** RFC 8410: what stands before the 32 bytes of a private key in PKCS #8. */
const pkcs8Start = Buffer.from("302e020100300506032b657004220420", "hex");
const seedBytes = 32;

/** Public keys by their id. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

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

  /** PEM. */
  get publicText(): string {
    return this.publicKey.export({ format: "pem", type: "spki" }).toString();
  }

  /** @returns base64 */
  sign(text: string): string {
    return sign(null, Buffer.from(text), this.#private).toString("base64");
  }
}

export function keyIdOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ format: "der", type: "spki" }))
    .digest("hex");
}

/** @param pem of a public key @returns undefined for anything that is none of Ed25519 */
export function readPublicKey(pem: string): KeyObject | undefined {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** @param signature base64 */
export function isSigned(text: string, signature: string, key: KeyObject): boolean {
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
