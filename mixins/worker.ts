// A loop that works beside a service's calls: it begins with the service and ends with it.
import type { Service, ServiceSchema } from "moleculer";
import type { Runtime } from "../host/process/runtime.ts";

export interface Worker {
  start(): void | Promise<void>;
  /** What is under way ends or is given back. */
  stop(): Promise<void>;
}

/** A service as a mixin sees it: our middleware has given it the process's runtime. */
export interface WithRuntime extends Service {
  runtime: Runtime;
}

/** @param make called once the process's runtime is open; undefined where there is nothing to be done */
export function worker(make: (service: WithRuntime) => Worker | undefined): Partial<ServiceSchema> {
  const working = new WeakMap<Service, Worker>();
  // Moleculer calls these on the service.
  const mixin = {
    async started(this: WithRuntime): Promise<void> {
      const made = make(this);
      if (made === undefined) return;
      working.set(this, made);
      await made.start();
    },
    // Also called where nothing was started, because the start failed elsewhere.
    async stopped(this: WithRuntime): Promise<void> {
      await working.get(this)?.stop();
    },
  };
  return mixin as Partial<ServiceSchema>;
}
