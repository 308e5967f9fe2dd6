// Whether this process answers requests at this moment, by what its own thread computes: archives are moved elsewhere, and what
// a job writes about itself is next to nothing. (How long its event loop is busy would say more about the machine's neighbours.)

/** Of one core. Some fifty requests a second; a job alone stays below. */
const busyShareMin = 0.01;
/** Requests come in bursts. */
const staysMs = 2_000;

/** When, and what the thread has computed until then. */
export interface Used {
  atMs: number;
  cpuMs: number;
}

function usedByThisThread(): Used {
  const { user, system } = process.threadCpuUsage();
  return { atMs: performance.now(), cpuMs: (user + system) / 1000 };
}

export class Serving {
  readonly #used: () => Used;
  #seen: Used;
  #busyUntilMs = Number.NEGATIVE_INFINITY;

  constructor(used = usedByThisThread) {
    this.#used = used;
    this.#seen = used();
  }

  /** By what was computed since it was asked last. */
  isBusy(): boolean {
    const now = this.#used();
    const share = (now.cpuMs - this.#seen.cpuMs) / (now.atMs - this.#seen.atMs);
    this.#seen = now;
    if (share >= busyShareMin) this.#busyUntilMs = now.atMs + staysMs;
    return now.atMs < this.#busyUntilMs;
  }
}
