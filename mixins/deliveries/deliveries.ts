// For a service that tells others of events: the worker that makes the deliveries of its channel.
import type { ServiceSchema } from "moleculer";
import { type WithRuntime, worker } from "../worker.ts";
import type { Channel } from "./channel.ts";
import { DeliveryWorker } from "./delivery-worker.ts";

/** @param channelOf how a target is told */
export function deliveries<Settings>(
  channelOf: (service: WithRuntime) => Channel<Settings>,
): Partial<ServiceSchema> {
  return worker((service) => new DeliveryWorker(service.runtime, channelOf(service)));
}
