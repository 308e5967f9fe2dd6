// Work that is done without a running service: the program runs the services that it needs itself, on the same database and store.
// Only an embedded database has one user at a time.
import { ServiceBroker } from "moleculer";
import { assemble } from "../../moleculer.config.ts";
import { loadServices } from "../load-services.ts";
import { readConfig } from "../shared/config.ts";
import { StartError } from "../shared/embedded/start-error.ts";
import { operatorCaller } from "../shared/operator.ts";
import type { Joined } from "./joined.ts";

const standardError = 2;

/** @param folders of the services @throws ConfigError, StartError */
export async function joinAlone(
  env: NodeJS.ProcessEnv,
  operator: string | undefined,
  folders: readonly string[],
  onFailure: (reason: string) => void,
): Promise<Joined> {
  // By itself: no other node waits for what this one offers for some seconds.
  const config = {
    ...readConfig(env),
    natsUrls: undefined,
    healthPort: undefined,
    metricsPort: undefined,
    logLevel: "error" as const,
  };
  const visit = { isVisitor: false, logTo: standardError };
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
    throw error instanceof Error ? error : new StartError(String(error));
  }
  return { broker, operator, meta: () => ({ caller: operatorCaller(operator) }), leave };
}
