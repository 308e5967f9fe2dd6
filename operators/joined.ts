// What an operator's program has of the service once it has joined it, by whatever way.
import type { ServiceBroker } from "moleculer";

export interface Joined {
  readonly broker: ServiceBroker;
  /** Whose name changes are audited under; undefined: who only looks. */
  readonly operator: string | undefined;
  /** What goes with each call, and says who makes it. */
  meta(): object;
  leave(): Promise<void>;
}
