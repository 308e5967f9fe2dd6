// The actions that a node knows of, its own and those of others.
import type { ServiceBroker } from "moleculer";

export interface ListedAction {
  name: string;
  action?: { params?: Readonly<Record<string, string>>; repeatable?: boolean };
}

/** @param options as Moleculer's registry takes them */
export function actionList(broker: ServiceBroker, options: { onlyAvailable?: boolean } = {}): ListedAction[] {
  // The registry's list is typed as anything; these are its documented fields, and what our actions add to theirs.
  return broker.registry.getActionList(options) as unknown as ListedAction[];
}
