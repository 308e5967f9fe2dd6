// What a service does when another one hints at something.
import type { Context, Service, ServiceSchema } from "moleculer";
import type { Runtime } from "../../../host/process/runtime.ts";
import { type Events, runtimeOf } from "./bus.ts";

type Listeners = { [K in keyof Events]?: (payload: Events[K], runtime: Runtime) => Promise<void> };

/**
 * Turns listeners into Moleculer events; one node of each service hears a hint. The middleware lets an event through
 * only when a node of ours signed it, but a hint may come late, twice or never: what it triggers must bear that.
 */
export function listen(listeners: Listeners): NonNullable<ServiceSchema["events"]> {
  const events: NonNullable<ServiceSchema["events"]> = {};
  for (const [name, listener] of Object.entries(listeners)) {
    // Object.entries loses the tie between a name and its payload's type.
    const handler = listener as (payload: unknown, runtime: Runtime) => Promise<void>;
    events[name] = {
      handler(this: Service, ctx: Context) {
        return handler(ctx.params, runtimeOf(this));
      },
    };
  }
  return events;
}
