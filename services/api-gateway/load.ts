// The requests in progress: each has a slot, and its body's bytes count from the moment they may arrive until the action
// has ended, because a body is kept as parameters. Both are bounded, in total and per address. A request beyond a bound is
// refused at once (503), before any of it is read.
import { Unavailable } from "../shared/errors.ts";
import { Share } from "./share.ts";

/** A slot costs about 20 kB. One address may use half of them: a load test from one machine uses a thousand. */
const requestsMax = 2_000;
const requestsPerAddressMax = 1_000;
/** Bound for one user over all addresses, weighted by the cost of the operations: some seconds of work. */
const weightPerUserMax = 2_000;
/** Heavier operations start work of minutes in other processes, which has its own bounds. */
const weightMax = 100;
/** One address may use a quarter of the bytes of a kind. */
const addressPart = 4;

/**
 * Three kinds of bodies have separate budgets, so that large bodies with a token leave room for sign-ins, and
 * notifications, which need no token and may be large, leave room for both.
 */
export type BodyKind = "small" | "notification" | "large";
const eighths: Readonly<Record<BodyKind, number>> = { small: 2, notification: 1, large: 5 };

const overloaded = () => new Unavailable("overloaded", "Too many requests at the moment", 1);

export class Load {
  readonly #requests = new Share(requestsMax, requestsPerAddressMax);
  /** The number of entries is bounded by the number of requests. */
  readonly #users = new Share<number>(Number.MAX_SAFE_INTEGER, weightPerUserMax);
  readonly #bodies: Readonly<Record<BodyKind, Share>>;

  /** @param bodiesBytesMax bound of all bodies together, in bytes */
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

  /** Requests in progress, including those whose client has disconnected. */
  get requests(): number {
    return this.#requests.taken;
  }

  get bodyBytes(): number {
    const { small, notification, large } = this.#bodies;
    return small.taken + notification.taken + large.taken;
  }

  /** @throws Unavailable when there is no free slot. The caller must release the result in every case. */
  enter(address: string): Held {
    if (!this.#requests.take(address, 1)) throw overloaded();
    return new Held(address, this.#requests, this.#bodies, this.#users);
  }
}

/** The slot and the bytes of one request. */
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

  /** Called once per request. @throws Unavailable when too many operations of this user are in progress */
  weigh(userId: number, weight = 1): void {
    const counted = Math.min(weight, weightMax);
    if (this.#released || !this.#users.take(userId, counted)) throw overloaded();
    this.#weighed = { userId, weight: counted };
  }

  /** Called once per request, before its body is accepted. @throws Unavailable when there is no room */
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
