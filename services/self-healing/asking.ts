// The questions of one look to the services' detectors. Each waits only as long as the look may take, so that the look ends
// in time and names what has not answered.
import { askForFaults, askMsMax, type FindResult } from "../../mixins/healing/port.ts";
import type { Looker } from "./look.ts";

/** A detector that did not end in time, or failed. */
export interface Unanswered {
  code: string;
  service: string;
}

/** A service that has left so many questions of one look unanswered is not asked again in it: each costs the whole wait. */
const unansweredMax = 2;
/** Nothing is begun with less time left: whoever is asked has at least so long. */
const leftMsMin = 2_000;
/** So many are named. */
const namedMax = 50;

export class Asking {
  readonly #looker: Looker;
  readonly #endsAt: number;
  readonly #leftMsMin: number;
  readonly #failures = new Map<string, number>();
  readonly #unanswered = new Map<string, Unanswered>();

  /** @param msMax after which no answer is waited for */
  constructor(looker: Looker, msMax: number) {
    this.#looker = looker;
    this.#endsAt = performance.now() + msMax;
    this.#leftMsMin = Math.min(leftMsMin, msMax / 2);
  }

  /** Too late to begin anything. */
  get isOver(): boolean {
    return this.#endsAt - performance.now() < this.#leftMsMin;
  }

  get unanswered(): Unanswered[] {
    const byCode = (a: Unanswered, b: Unanswered) =>
      a.code.localeCompare(b.code) || a.service.localeCompare(b.service);
    return [...this.#unanswered.values()].sort(byCode);
  }

  /** What a detector answered, or did not, is of no use: it is named. */
  failed(code: string, services: readonly string[]): void {
    for (const service of services)
      if (this.#unanswered.size < namedMax) this.#unanswered.set(`${code} ${service}`, { code, service });
  }

  /** @returns undefined when the detector does not answer, or its service has not before */
  async ask(service: string, asked: Parameters<typeof askForFaults>[2]): Promise<FindResult | undefined> {
    const failures = this.#failures.get(service) ?? 0;
    const msLeft = this.#endsAt - performance.now();
    if (failures >= unansweredMax || msLeft < 1) return undefined;
    const { broker, runtime } = this.#looker;
    try {
      return await askForFaults(broker, service, asked, undefined, Math.min(askMsMax, msLeft));
    } catch (error) {
      const { code } = asked;
      this.#failures.set(service, (this.#failures.get(service) ?? 0) + 1);
      this.failed(code, [service]);
      runtime.log.debug({ service, code, err: error }, "a service did not say what is at fault");
      return undefined;
    }
  }
}
