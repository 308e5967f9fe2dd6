// The mixin for services whose work must know that the process stops: an AbortSignal that fires first when they stop.
import type { Service, ServiceSchema } from "moleculer";
import type { WithRuntime } from "./worker.ts";

export interface WithStopSignal extends WithRuntime {
  stopping: AbortSignal;
}

/** List it first: Moleculer stops the mixins of a service in the order in which they are listed. */
export function stopSignal(): Partial<ServiceSchema> {
  const controllers = new WeakMap<Service, AbortController>();
  // Moleculer calls these on the service.
  const mixin = {
    created(this: WithStopSignal): void {
      const controller = new AbortController();
      controllers.set(this, controller);
      this.stopping = controller.signal;
    },
    stopped(this: WithStopSignal): void {
      controllers.get(this)?.abort(new Error("the process stops"));
    },
  };
  return mixin as Partial<ServiceSchema>;
}
