// Starts a node for an operator's program: assembled like that of any process, and closed in the same order, however far its
// start came.
import { ServiceBroker } from "moleculer";
import { assemble } from "../moleculer.config.ts";
import { loadServices } from "../host/load-services.ts";
import { operatorCaller } from "../services/shared/operator.ts";
import type { Config } from "../host/settings/settings.ts";
import type { ServiceConnection } from "./service-connection.ts";

const standardError = 2;

export interface OperatorsNode {
  config: Config;
  operator: string | undefined;
  /** Whether the node only calls others and offers no services. */
  isClient: boolean;
  /** Folders of the services that it runs itself. */
  folders: readonly string[];
  onFailure: (reason: string) => void;
}

/** @throws the error that prevented the start; then everything is closed again */
export async function startNode(node: OperatorsNode): Promise<ServiceConnection> {
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
