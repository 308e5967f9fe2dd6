// The process's one way out, shared by all services that speak to foreign addresses.
import type { ServiceSchema } from "moleculer";
import { perRuntime } from "../../services/shared/per-runtime.ts";
import type { WithRuntime } from "../worker.ts";
import { Outbound } from "./outbound.ts";

export const outboundOf = perRuntime(
  ({ config }) => new Outbound({ allowSubnets: config.webhookAllowSubnets }),
);

/**
 * For services that use it: it is closed when they stop. To be named after what speaks through it: Moleculer stops the mixins
 * of a service in the order in which they are named, and starts them in the opposite one.
 */
export function outbound(): Partial<ServiceSchema> {
  // Moleculer calls it on the service.
  const mixin = {
    stopped(this: WithRuntime): void {
      outboundOf(this.runtime).close();
    },
  };
  return mixin as Partial<ServiceSchema>;
}
