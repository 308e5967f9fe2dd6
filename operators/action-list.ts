// Lists the actions that a node knows: its own and those of other nodes.
import type { ServiceBroker } from "moleculer";

export interface ListedAction {
  name: string;
  action?: { params?: Readonly<Record<string, string>>; repeatable?: boolean };
}

/** @param options of Moleculer's registry */
export function actionList(broker: ServiceBroker, options: { onlyAvailable?: boolean } = {}): ListedAction[] {
  // The registry's list is typed as anything; these are its documented fields, and what our actions add to theirs.
  return broker.registry.getActionList(options) as unknown as ListedAction[];
}
