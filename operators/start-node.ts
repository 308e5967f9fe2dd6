// An operator's own node: assembled as that of any process, and left in the same order however far it came.
import { ServiceBroker } from "moleculer";
import { assemble } from "../moleculer.config.ts";
import { loadServices } from "../host/load-services.ts";
import { operatorCaller } from "../services/shared/operator.ts";
import type { Config } from "../host/settings/settings.ts";
import type { Joined } from "./joined.ts";

const standardError = 2;

export interface OperatorsNode {
  config: Config;
  operator: string | undefined;
  /** Whether it visits a cluster, and is no process of it. */
  isClient: boolean;
  /** Service folders that it runs itself. */
  folders: readonly string[];
  onFailure: (reason: string) => void;
}

/** @throws what kept it from starting; nothing of it is left then */
export async function startNode(node: OperatorsNode): Promise<Joined> {
  const { config, operator, isClient, folders, onFailure } = node;
  const visit = { isClient, logTo: standardError };
  const { options, runtime, flushLog } = assemble(config, onFailure, visit);
  const broker = new ServiceBroker(options);
  await loadServices(broker, folders);
  const leave = async () => {
    await broker.stop();
    await runtime.close();
    flushLog();
  };
  try {
    await broker.start();
  } catch (error) {
    await leave().catch(() => {});
    throw error;
  }
  return { broker, operator, meta: () => ({ caller: operatorCaller(operator) }), leave };
}
