// The outbound HTTP client of the process. All services that connect to foreign addresses share it.
import type { ServiceSchema } from "moleculer";
import { perRuntime } from "../../services/shared/per-runtime.ts";
import type { WithRuntime } from "../worker.ts";
import { Outbound } from "./outbound.ts";

/** The client of a process, created at its first use. */
export const outboundOf = perRuntime(
  ({ config }) => new Outbound({ allowSubnets: config.webhookAllowSubnets }),
);

/**
 * Closes the client when the service stops. List this mixin after those that send through it: Moleculer stops the mixins of a
 * service in the order in which they are listed, and starts them in the opposite order.
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
