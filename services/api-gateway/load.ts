// What requests under way hold of this process: a place each, and the bytes of their bodies, from the moment these may
// arrive until the action has ended (a body lives on as parameters). Both are bounded, in all and per address; what is
// beyond is refused at once (503), before anything of it is read.
import { Unavailable } from "../shared/errors.ts";
import { Share } from "./share.ts";

/** A place costs some 20 kB. One address has half of them: a thousand at once is what a load test from one machine has. */
const requestsMax = 2_000;
const requestsPerAddressMax = 1_000;
/** Of one user, by what their operations cost: some seconds of work for whoever comes behind them, from however many addresses. */
const weightPerUserMax = 2_000;
/** What weighs more is work of minutes, elsewhere, with bounds of its own. */
const weightMax = 100;
/** One address may hold a quarter of the bytes of a kind. */
const addressPart = 4;

/**
 * Three kinds of bodies, each with a part of its own: big ones, which take a token, leave what sign-ins need; and
 * notifications, which take none and may be big, leave both.
 */
export type BodyKind = "small" | "notification" | "large";
const eighths: Readonly<Record<BodyKind, number>> = { small: 2, notification: 1, large: 5 };

const overloaded = () => new Unavailable("overloaded", "Too many requests at the moment", 1);

export class Load {
  readonly #requests = new Share(requestsMax, requestsPerAddressMax);
  /** Bounded in all by the requests. */
  readonly #users = new Share<number>(Number.MAX_SAFE_INTEGER, weightPerUserMax);
  readonly #bodies: Readonly<Record<BodyKind, Share>>;

  /** @param bodiesBytesMax of all bodies together */
  constructor(bodiesBytesMax: number) {
    const shareOf = (kind: BodyKind) => {
      const bytes = Math.floor((bodiesBytesMax * eighths[kind]) / 8);
      return new Share(bytes, Math.floor(bytes / addressPart));
    };
    this.#bodies = {
      small: shareOf("small"),
      notification: shareOf("notification"),
      large: shareOf("large"),
    };
  }

  /** Requests that are being worked on, also those whose client has gone. */
  get requests(): number {
    return this.#requests.taken;
  }

  get bodyBytes(): number {
    const { small, notification, large } = this.#bodies;
    return small.taken + notification.taken + large.taken;
  }

  /** @throws Unavailable when there is no place. Who enters releases what was held, in every case. */
  enter(address: string): Held {
    if (!this.#requests.take(address, 1)) throw overloaded();
    return new Held(address, this.#requests, this.#bodies, this.#users);
  }
}

/** What one request holds. */
export class Held {
  readonly #address: string;
  readonly #requests: Share;
  readonly #bodies: Readonly<Record<BodyKind, Share>>;
  readonly #users: Share<number>;
  #share: Share | undefined;
  #bytes = 0;
  #weighed: { userId: number; weight: number } | undefined;
  #released = false;

  constructor(
    address: string,
    requests: Share,
    bodies: Readonly<Record<BodyKind, Share>>,
    users: Share<number>,
  ) {
    this.#address = address;
    this.#requests = requests;
    this.#bodies = bodies;
    this.#users = users;
  }

  /** Once per request. @throws Unavailable when too much of the user's is under way */
  weigh(userId: number, weight = 1): void {
    const counted = Math.min(weight, weightMax);
    if (this.#released || !this.#users.take(userId, counted)) throw overloaded();
    this.#weighed = { userId, weight: counted };
  }

  /** Once per request, before its body is let in. @throws Unavailable when there is no room */
  expectBody(kind: BodyKind, bytes: number): void {
    this.#share = this.#bodies[kind];
    this.growTo(bytes);
  }

  /** @param bytes of the body so far. @throws Unavailable when there is no room for them */
  growTo(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more <= 0) return;
    if (this.#released || this.#share?.take(this.#address, more) !== true) throw overloaded();
    this.#bytes = bytes;
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#requests.giveBack(this.#address, 1);
    this.#share?.giveBack(this.#address, this.#bytes);
    if (this.#weighed !== undefined) this.#users.giveBack(this.#weighed.userId, this.#weighed.weight);
  }
}
