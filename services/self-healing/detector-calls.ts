// The calls of a detection run to the detectors of the services. The waiting time is limited by the run, so
// that the run ends in time and lists the detectors that did not answer.
import { askForFaults, askMsMax, type FindResult } from "../../mixins/healing/port.ts";
import type { DetectionContext } from "./detect-faults.ts";

/** A detector that failed or did not answer in time. */
export interface Unanswered {
  code: string;
  service: string;
}

/**
 * After this many failed calls a service is not called again in the run, because each call may cost the full
 * timeout.
 */
const unansweredMax = 2;
/** No call is started with less time left. */
const leftMsMin = 2_000;
/** Bound of the list of detectors without an answer. */
const namedMax = 50;

/** The calls of one detection run. */
export class DetectorCalls {
  readonly #looker: DetectionContext;
  readonly #endsAt: number;
  readonly #leftMsMin: number;
  readonly #failures = new Map<string, number>();
  readonly #unanswered = new Map<string, Unanswered>();

  /** @param msMax time limit of the run */
  constructor(looker: DetectionContext, msMax: number) {
    this.#looker = looker;
    this.#endsAt = performance.now() + msMax;
    this.#leftMsMin = Math.min(leftMsMin, msMax / 2);
  }

  /** Whether there is too little time left for another call. */
  get isOver(): boolean {
    return this.#endsAt - performance.now() < this.#leftMsMin;
  }

  get unanswered(): Unanswered[] {
    const byCode = (a: Unanswered, b: Unanswered) =>
      a.code.localeCompare(b.code) || a.service.localeCompare(b.service);
    return [...this.#unanswered.values()].sort(byCode);
  }

  /** Lists the detectors of a fault whose answer could not be used. */
  failed(code: string, services: readonly string[]): void {
    for (const service of services)
      if (this.#unanswered.size < namedMax) this.#unanswered.set(`${code} ${service}`, { code, service });
  }

  /** @returns undefined when the detector does not answer, or its service has failed too often */
  async call(service: string, asked: Parameters<typeof askForFaults>[2]): Promise<FindResult | undefined> {
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
