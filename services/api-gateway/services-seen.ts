// Whether the services behind the routes were seen: until then a gateway is of no use, and not ready. Seen once is enough:
// when they go it answers 503, and no other gateway would know better.
import type { ServiceBroker } from "moleculer";
import { knownNodes } from "../shared/bus/nodes.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { routes } from "./routes.ts";

/** A service that this installation does not run, or that is broken, keeps nobody from all the others for longer. */
const patienceMs = 15_000;
/** Others that are there have been heard by then: they say every two seconds that they are. */
const hearingMs = 5_000;
const lookEveryMs = 250;
/** Without it no request with a token is answered. */
const indispensable = "auth";

export interface Seen {
  /** Services behind the routes that were never seen. */
  missing: readonly string[];
  /** Processes beside this one. */
  others: number;
  /** Messages that were not sealed with this process's BUS_SECRET. */
  foreign: number;
  waitedMs: number;
  namespace: string;
}

/** @returns whether the gateway is of use, and a sentence where something is wrong */
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

/** Holds the process's readiness back until then. Once it has begun it looks by itself, so that what is wrong is said. */
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
