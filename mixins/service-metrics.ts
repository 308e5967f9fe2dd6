// The mixin for metrics of a service: its gauges and counters are declared once the runtime of the process is open.
import type { ServiceSchema } from "moleculer";
import type { Runtime } from "../host/process/runtime.ts";
import type { WithRuntime } from "./worker.ts";

/** @param declare functions that register metrics; each is called once with the runtime */
export function serviceMetrics(...declare: readonly ((runtime: Runtime) => void)[]): Partial<ServiceSchema> {
  // Moleculer calls it on the service.
  const mixin = {
    started(this: WithRuntime): void {
      for (const each of declare) each(this.runtime);
    },
  };
  return mixin as Partial<ServiceSchema>;
}
