// The mixin for a loop that runs beside a service's calls: it starts and stops with the service.
import type { Service, ServiceSchema } from "moleculer";
import type { Runtime } from "../host/process/runtime.ts";

export interface Worker {
  start(): void | Promise<void>;
  /** Work in progress ends or is given back. */
  stop(): Promise<void>;
}

/** A service as a mixin sees it: our middleware has added the runtime of the process. */
export interface WithRuntime extends Service {
  runtime: Runtime;
}

/** @param make called once the runtime of the process is open; returns undefined when there is no work */
export function worker(make: (service: WithRuntime) => Worker | undefined): Partial<ServiceSchema> {
  const working = new WeakMap<Service, Worker>();
  // Moleculer calls these functions on the service.
  const mixin = {
    async started(this: WithRuntime): Promise<void> {
      const made = make(this);
      if (made === undefined) return;
      working.set(this, made);
      await made.start();
    },
    // Also called if nothing was started, after a start that failed elsewhere.
    async stopped(this: WithRuntime): Promise<void> {
      await working.get(this)?.stop();
    },
  };
  return mixin as Partial<ServiceSchema>;
}
