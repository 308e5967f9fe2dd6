// The nodes of the installation, as this one knows them.
import type { ServiceBroker } from "moleculer";

export interface KnownNode {
  id: string;
  services: string[];
}

/** Those that are there at the moment, this one included: the registry lists it like any other. */
export function knownNodes({ registry }: ServiceBroker): KnownNode[] {
  // The registry's list is typed as anything; these are its documented fields.
  const nodes = registry.getNodeList({ onlyAvailable: true, withServices: true }) as unknown as {
    id: string;
    services: { name: string }[];
  }[];
  return nodes.map(({ id, services }) => ({ id, services: services.map(({ name }) => name) }));
}

/** The ids of those that offer a service. */
export function offeringNodes(broker: ServiceBroker, service: string): string[] {
  return knownNodes(broker)
    .filter(({ services }) => services.includes(service))
    .map(({ id }) => id);
}
