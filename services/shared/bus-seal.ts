// Everything on the bus is sealed with a key that follows from BOOT_SECRET. The bus's own login alone lets nobody read
// a token or a name, make up a request, an answer or a node, or learn anything by asking: what was not sealed by a node
// of this deployment is dropped. (Moleculer believes every packet; a made-up answer to auth.authenticate was enough to
// be superadmin.)
// Limit: a sealed message can be repeated by who overheard it for as long as it is fresh, to any node. Answers are
// matched to open requests, events are hints; a repeated request runs again with the rights it had.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Middleware } from "moleculer";

/** Older or newer than this is dropped: nodes' clocks must agree so far. */
const freshMsMax = 60_000;
const warnEveryMs = 10_000;
/** Of other processes: beyond it the oldest is derived again when next heard. */
const keysMax = 256;

// [version][salt of the sender's process][moment 6, counter 6: the nonce][ciphertext][tag]. No JSON begins with a 1.
const version = 1;
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + saltBytes + nonceBytes;
const algorithm = "aes-256-gcm";

export class BusSeal {
  readonly #secret: string;
  readonly #salt = randomBytes(saltBytes);
  readonly #key: Buffer;
  readonly #keys = new Map<string, Buffer>();
  #counter = 0;

  constructor(bootSecret: string) {
    this.#secret = bootSecret;
    this.#key = this.#derive(this.#salt);
  }

  /** @param kind of the packet (REQ, RES, …): it opens as no other */
  seal(kind: string, data: Uint8Array): Buffer {
    const head = Buffer.allocUnsafe(headBytes);
    head[0] = version;
    this.#salt.copy(head, 1);
    head.writeUIntBE(Date.now(), 1 + saltBytes, 6);
    // A process never seals twice under one nonce: 2^48 messages are more than it will ever send.
    head.writeUIntBE(this.#counter++, 1 + saltBytes + 6, 6);
    const cipher = createCipheriv(algorithm, this.#key, head.subarray(1 + saltBytes));
    cipher.setAAD(Buffer.from(kind));
    return Buffer.concat([head, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }

  /** @returns undefined for whatever was not sealed by a node of this deployment within the last minute */
  open(kind: string, message: Buffer): Buffer | undefined {
    if (message[0] !== version || message.length < headBytes + tagBytes) return undefined;
    const moment = message.readUIntBE(1 + saltBytes, 6);
    if (Math.abs(Date.now() - moment) > freshMsMax) return undefined;
    const salt = message.subarray(1, 1 + saltBytes);
    const name = salt.toString("latin1");
    const key = this.#keys.get(name) ?? this.#derive(salt);
    const opener = createDecipheriv(algorithm, key, message.subarray(1 + saltBytes, headBytes), {
      authTagLength: tagBytes,
    });
    opener.setAAD(Buffer.from(kind));
    opener.setAuthTag(message.subarray(-tagBytes));
    try {
      const data = Buffer.concat([opener.update(message.subarray(headBytes, -tagBytes)), opener.final()]);
      this.#remember(name, key);
      return data;
    } catch {
      return undefined;
    }
  }

  #derive(salt: Uint8Array): Buffer {
    return Buffer.from(hkdfSync("sha256", this.#secret, salt, "records bus seal v1", 32));
  }

  #remember(name: string, key: Buffer): void {
    if (this.#keys.has(name)) return;
    const [oldest] = this.#keys.keys();
    if (oldest !== undefined && this.#keys.size >= keysMax) this.#keys.delete(oldest);
    this.#keys.set(name, key);
  }
}

type Send = (topic: string, data: Buffer, facts: { packet: { type: string } }) => Promise<void>;
type Receive = (command: string, data: Buffer, ...rest: unknown[]) => Promise<unknown> | undefined;

/**
 * @param seal made when the first message goes or comes: by then the secrets are known
 * @param warn told at most every 10 s that messages were dropped
 */
export function sealedBus(makeSeal: () => BusSeal, warn: (sentence: string) => void): Middleware {
  let made: BusSeal | undefined;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const seal = () => (made ??= makeSeal());
  const hooks = {
    name: "bus-seal",
    transporterSend: (next: Send) => (topic: string, data: Buffer, facts: { packet: { type: string } }) =>
      next(topic, seal().seal(facts.packet.type, data), facts),
    transporterReceive:
      (next: Receive) =>
      (command: string, data: Buffer, ...rest: unknown[]) => {
        const opened = seal().open(command, data);
        if (opened !== undefined) return next(command, opened, ...rest);
        if (performance.now() - warnedAt >= warnEveryMs) {
          warnedAt = performance.now();
          warn("Messages on the bus were dropped: not sealed with our BOOT_SECRET, or older than a minute.");
        }
        return Promise.resolve();
      },
  };
  // Moleculer declares these two hooks as if they answered what the wrapped functions answer.
  return hooks as unknown as Middleware;
}
