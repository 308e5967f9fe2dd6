// The mixin for a service that sends events to targets: it runs the worker that makes the deliveries of its channel.
import type { ServiceSchema } from "moleculer";
import { type WithRuntime, worker } from "../worker.ts";
import type { Channel } from "./channel.ts";
import { DeliveryWorker } from "./delivery-worker.ts";

/** @param channelOf makes the channel, once the runtime of the process is open */
export function deliveries<Settings>(
  channelOf: (service: WithRuntime) => Channel<Settings>,
): Partial<ServiceSchema> {
  return worker((service) => new DeliveryWorker(service.runtime, channelOf(service)));
}
