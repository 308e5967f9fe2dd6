// How hard the bytes of archives are moved. While nobody is served, as hard as it goes; while the process answers requests, each
// piece of work is followed by a rest, so that PostgreSQL, the pool that compresses and this thread leave time on the cores: a
// backup may take longer, but whoever works meanwhile must not wait for it.
import { setTimeout as delay } from "node:timers/promises";

/** Of the time that a piece of work took. */
const restShare = 1.5;
/** A timer is no finer. */
const restMsMin = 1;
/** Whoever waited for a slow store or a locked table has rested already. */
const restMsMax = 50;
/** Compressed at a time: of the small ones, which take a third of a millisecond, a request waits for one at most. */
const [pieceBytesMax, smallPieceBytes] = [1024 * 1024, 64 * 1024];

/** What brings the next bytes, and can be kept from it. */
interface Held {
  hold(): void;
  release(): void;
}

export interface Clock {
  now(): number;
  wait(ms: number): Promise<unknown>;
}

const clockOfTheProcess: Clock = { now: () => performance.now(), wait: (ms) => delay(ms) };

export class Pace {
  readonly #clock: Clock;
  #givesWay = false;
  #restedAt: number;

  constructor(clock = clockOfTheProcess) {
    this.#clock = clock;
    this.#restedAt = clock.now();
  }

  /** @param on whether others are served at this moment */
  giveWay(on: boolean): void {
    this.#givesWay = on;
  }

  /** How much is worked on between two rests. */
  get pieceBytes(): number {
    return this.#givesWay ? smallPieceBytes : pieceBytesMax;
  }

  /**
   * After each piece of work. Pieces smaller than a timer's step are rested for together.
   * @param reading rests too
   */
  async rest(reading?: Held): Promise<void> {
    const ms = Math.min(restMsMax, (this.#clock.now() - this.#restedAt) * restShare);
    if (this.#givesWay && ms < restMsMin) return;
    if (this.#givesWay) {
      reading?.hold();
      await this.#clock.wait(ms).finally(() => reading?.release());
    }
    this.#restedAt = this.#clock.now();
  }
}
