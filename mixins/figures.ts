// What a service shows of itself at /metrics: its gauges and counters are declared once the process's runtime is open.
import type { ServiceSchema } from "moleculer";
import type { Runtime } from "../host/process/runtime.ts";
import type { WithRuntime } from "./worker.ts";

export function figures(...declare: readonly ((runtime: Runtime) => void)[]): Partial<ServiceSchema> {
  // Moleculer calls it on the service.
  const mixin = {
    started(this: WithRuntime): void {
      for (const each of declare) each(this.runtime);
    },
  };
  return mixin as Partial<ServiceSchema>;
}
