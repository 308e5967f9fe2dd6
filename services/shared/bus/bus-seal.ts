// Everything on the bus is sealed with keys that follow from BUS_SECRET. The bus's own login alone lets nobody read a
// token or a name, make up a request, an answer or a node, or send again what was overheard: what no process of this
// deployment sealed, for exactly the subject it came on, within the last minute and not yet seen here, is dropped.
// (Moleculer believes every packet; a made-up answer to auth.authenticate was enough to be superadmin.)
// Each process seals under a key of its own, made of BUS_SECRET and a random salt, with numbers that only grow. A receiver
// remembers which numbers of each sender have come. A sender is forgotten only together with all its messages: who is met
// (again) after that must send something younger than the last of them.
// Limit: whoever stands between a process and NATS (TLS keeps everybody out of there) can hold a message back for up to
// a minute and then deliver it, once.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { CounterWindow } from "./counter-window.ts";

/** Older or newer than this is dropped: nodes' clocks must agree so far. */
export const freshMsMax = 60_000;
/** Senders whose messages are remembered: processes of this deployment that were heard of late. 1 kB each. */
const sendersMax = 1_024;

// [version][salt of the sender's process][moment 6, counter 6: the nonce][ciphertext][tag].
const version = 2;
const saltBytes = 16;
const momentAt = 1 + saltBytes;
const counterAt = momentAt + 6;
const headBytes = counterAt + 6;
const tagBytes = 16;
const algorithm = "aes-256-gcm";

/** Why a message was dropped, and how often. */
export interface Dropped {
  /** Not sealed by a process that knows our BUS_SECRET, or not for the subject it came on. */
  foreign: number;
  /** Older or newer than a minute. */
  stale: number;
  repeated: number;
  /** Meant for, or told by, another start of the node (bus-starts.ts). */
  other_start: number;
}

interface Sender {
  key: KeyObject;
  come: CounterWindow;
  /** Older ones may have come before it was forgotten and remembered again. */
  afterMoment: number;
  latestMoment: number;
}

export class BusSeal {
  readonly #master: KeyObject;
  readonly #salt = randomBytes(saltBytes);
  readonly #key: KeyObject;
  readonly #dropped: Pick<Dropped, "foreign" | "stale" | "repeated">;
  /** A Map, as the sender whose own clock is furthest back is forgotten, and its moment then bounds all unknown ones. */
  readonly #senders = new Map<string, Sender>();
  /** Nothing counts of a sender that is met now, unless it is younger than all that came of those forgotten. */
  readonly #unknown = { afterMoment: 0 };
  #counter = 0;
  /** What opening has cost so far. */
  readonly work = { keys: 0, decryptions: 0 };

  /** @param dropped is counted up */
  constructor(busSecret: string, dropped: Pick<Dropped, "foreign" | "stale" | "repeated">) {
    this.#master = createSecretKey(Buffer.from(hkdfSync("sha256", busSecret, "", "records bus seal v2", 32)));
    this.#dropped = dropped;
    this.#key = this.#keyOf(this.#salt);
  }

  get knownSenders(): number {
    return this.#senders.size;
  }

  /** @param subject on which it is sent: it opens on no other */
  seal(subject: string, data: Uint8Array): Buffer {
    const head = Buffer.allocUnsafe(headBytes);
    head[0] = version;
    this.#salt.copy(head, 1);
    head.writeUIntBE(Date.now(), momentAt, 6);
    // A process never seals twice under one nonce: 2^48 messages are more than it will ever send.
    head.writeUIntBE(this.#counter++, counterAt, 6);
    const cipher = createCipheriv(algorithm, this.#key, head.subarray(momentAt));
    cipher.setAAD(Buffer.from(subject));
    return Buffer.concat([head, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
  }

  /** What costs least is asked first. @returns undefined for what is dropped */
  open(subject: string, message: Buffer): Buffer | undefined {
    if (message[0] !== version || message.length < headBytes + tagBytes) return this.#drop("foreign");
    const moment = message.readUIntBE(momentAt, 6);
    if (Math.abs(Date.now() - moment) > freshMsMax) return this.#drop("stale");
    const name = message.toString("latin1", 1, momentAt);
    const known = this.#senders.get(name);
    const counter = message.readUIntBE(counterAt, 6);
    if (moment <= (known ?? this.#unknown).afterMoment) return this.#drop("stale");
    if (known?.come.has(counter) === true) return this.#drop("repeated");
    const key = known?.key ?? this.#keyOf(message.subarray(1, momentAt));
    const data = this.#decrypt(key, subject, message);
    if (data === undefined) return this.#drop("foreign");
    // Only now: a stranger who writes numbers on garbage must not use up ours, nor fill the memory with senders.
    const sender = known ?? this.#remember(name, key);
    sender.come.add(counter);
    sender.latestMoment = Math.max(sender.latestMoment, moment);
    return data;
  }

  #decrypt(key: KeyObject, subject: string, message: Buffer): Buffer | undefined {
    this.work.decryptions++;
    const nonce = message.subarray(momentAt, headBytes);
    const opener = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    opener.setAAD(Buffer.from(subject));
    opener.setAuthTag(message.subarray(-tagBytes));
    const data = opener.update(message.subarray(headBytes, -tagBytes));
    try {
      opener.final();
      return data;
    } catch {
      return undefined;
    }
  }

  /** One HMAC: a stranger may make us do this for each message. */
  #keyOf(salt: Uint8Array): KeyObject {
    this.work.keys++;
    return createSecretKey(createHmac("sha256", this.#master).update(salt).digest());
  }

  #remember(name: string, key: KeyObject): Sender {
    if (this.#senders.size >= sendersMax) this.#forgetQuietest();
    const sender = { key, come: new CounterWindow(), latestMoment: 0, ...this.#unknown };
    this.#senders.set(name, sender);
    return sender;
  }

  #forgetQuietest(): void {
    let quietest: [string, Sender] | undefined;
    for (const each of this.#senders)
      if (quietest === undefined || each[1].latestMoment < quietest[1].latestMoment) quietest = each;
    if (quietest === undefined) return;
    this.#senders.delete(quietest[0]);
    this.#unknown.afterMoment = Math.max(this.#unknown.afterMoment, quietest[1].latestMoment);
  }

  #drop(reason: "foreign" | "stale" | "repeated"): undefined {
    this.#dropped[reason]++;
  }
}
