// Limits the runs of detectors: a run that takes too long is abandoned by its caller, and only a few runs of a detector may be
// unfinished at the same time. Without this bound the checks of each minute would pile up behind one that hangs.
import { Unavailable } from "../../services/shared/errors.ts";

const runsMax = 4;

/** At most 4 unfinished runs per name. */
export class RunLimiter {
  readonly #msMax: number;
  readonly #running = new Map<string, number>();

  /** @param msMax per run; must be less than the caller's timeout */
  constructor(msMax: number) {
    this.#msMax = msMax;
  }

  /** @throws Unavailable when the work does not end in time, or when too many runs of this name have not ended yet */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(name) ?? 0;
    if (running >= runsMax) throw new Unavailable("detector_busy", "This detector has not ended yet");
    this.#running.set(name, running + 1);
    const working = work().finally(() => this.#ended(name));
    // After the timeout nobody waits for this promise: a late rejection must not be unhandled.
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
