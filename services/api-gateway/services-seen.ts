// Whether this process has seen the services behind the routes. A gateway that has not seen them is of no use and not ready.
// Seen once is enough: if they disappear later, the gateway answers 503, as every other gateway would.
import type { ServiceBroker } from "moleculer";
import { knownNodes } from "../shared/bus/nodes.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { routes } from "./routes.ts";

/** A service that is missing or broken delays readiness no longer than this. */
const patienceMs = 15_000;
/** Within this time other processes must have been heard: each sends a heartbeat every two seconds. */
const hearingMs = 5_000;
const lookEveryMs = 250;
/** Without this service no request with a token can be answered. */
const indispensable = "auth";

export interface Seen {
  /** Services behind the routes that were never seen. */
  missing: readonly string[];
  /** Other processes that were seen. */
  others: number;
  /** Messages that were not sealed with this process's BUS_SECRET. */
  foreign: number;
  waitedMs: number;
  namespace: string;
}

/** @returns whether the gateway is of use, and a sentence if something is wrong */
export function judge(seen: Seen): { isReady: boolean; sentence?: string } {
  const { missing, others, foreign, waitedMs, namespace } = seen;
  if (missing.length === 0) return { isReady: true };
  const isReady = waitedMs >= patienceMs && !missing.includes(indispensable);
  if (isReady)
    return { isReady, sentence: `No process offers ${missing.join(", ")}: what they do is answered 503.` };
  if (waitedMs < hearingMs) return { isReady };
  const begin = "This gateway is not ready:";
  if (others > 0) return { isReady, sentence: `${begin} no process offers ${missing.join(", ")}.` };
  if (foreign > 0)
    return {
      isReady,
      sentence: `${begin} BUS_SECRET differs from that of the other processes (it follows from BOOT_SECRET where it is not set).`,
    };
  return {
    isReady,
    sentence: `${begin} nobody else is on this bus under NAMESPACE ${namespace}; it and NATS_URL must be those of the other processes.`,
  };
}

/** Delays the readiness of the process. It checks again regularly, so that a problem is logged. */
export function awaitServices(broker: ServiceBroker, runtime: Runtime): void {
  const seen = new ServicesSeen(broker, runtime);
  const { phases } = runtime;
  phases.needs("services", () => seen.isReady());
  phases.onceReady(() => seen.begin());
  phases.onceStopping(() => seen.end());
}

class ServicesSeen {
  readonly #broker: ServiceBroker;
  readonly #runtime: Runtime;
  readonly #missing = new Set(routes.map(({ action }) => action.split(".")[0] ?? ""));
  #since = performance.now();
  #said: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(broker: ServiceBroker, runtime: Runtime) {
    this.#broker = broker;
    this.#runtime = runtime;
  }

  begin(): void {
    this.#since = performance.now();
    this.#timer = setInterval(() => void this.isReady(), lookEveryMs).unref();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  isReady(): boolean {
    const nodes = knownNodes(this.#broker);
    for (const { services } of nodes) for (const service of services) this.#missing.delete(service);
    const { isReady, sentence } = judge({
      missing: [...this.#missing],
      others: nodes.length - 1,
      foreign: this.#runtime.droppedMessages.foreign,
      waitedMs: performance.now() - this.#since,
      namespace: this.#runtime.config.namespace,
    });
    if (this.#missing.size === 0) this.end();
    if (sentence !== undefined && sentence !== this.#said) this.#runtime.log.warn(sentence);
    this.#said = sentence;
    return isReady;
  }
}
