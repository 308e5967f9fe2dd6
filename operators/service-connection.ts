// The connection of an operator's program to the service, independent of the way.
import type { ServiceBroker } from "moleculer";

export interface ServiceConnection {
  readonly broker: ServiceBroker;
  /** The name under which changes are audited; undefined: only reading is allowed. */
  readonly operator: string | undefined;
  /** The meta of each call, which identifies the caller. */
  meta(): object;
  leave(): Promise<void>;
}
