// Which nodes offer a service, as this one knows them.
import type { ServiceBroker } from "moleculer";

/** Where a service is known to run; this node, which the registry lists like any other, included. */
export function offeringNodes(broker: ServiceBroker, service: string): string[] {
  // The registry's list is typed as anything; these are its documented fields.
  const nodes = broker.registry.getNodeList({ onlyAvailable: true, withServices: true }) as unknown as {
    id: string;
    services: { name: string }[];
  }[];
  return nodes.filter(({ services }) => services.some(({ name }) => name === service)).map(({ id }) => id);
}
