// A bound on detectors: one that does not end is given up by whoever asked, and only so many of its runs are under way, so
// that looks which come each minute do not pile up behind whatever it hangs at.
import { Unavailable } from "../../services/shared/errors.ts";

const runsMax = 4;

export class Bounded {
  readonly #msMax: number;
  readonly #running = new Map<string, number>();

  /** @param msMax of one run, less than its caller waits */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** @throws Unavailable when the work does not end in time, or too much of this name has not ended yet */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(name) ?? 0;
    if (running >= runsMax) throw new Unavailable("detector_busy", "This detector has not ended yet");
    this.#running.set(name, running + 1);
    const working = work().finally(() => this.#ended(name));
    // Whoever gave it up does not hear how it ends.
    working.catch(() => undefined);
    let late: NodeJS.Timeout | undefined;
    const inTime = new Promise<never>((_, reject) => {
      const refuse = () => reject(new Unavailable("detector_late", "This detector did not end in time"));
      late = setTimeout(refuse, this.#msMax);
    });
    return Promise.race([working, inTime]).finally(() => clearTimeout(late));
  }

  #ended(name: string): void {
    const left = (this.#running.get(name) ?? 1) - 1;
    if (left === 0) this.#running.delete(name);
    else this.#running.set(name, left);
  }
}
