// Runs a command without a running service: the program runs the needed services itself, on the same database and store.
// An embedded database allows only one user at a time.
import { readConfig } from "../host/settings/config.ts";
import { StartError } from "../services/shared/start-error.ts";
import type { ServiceConnection } from "./service-connection.ts";
import { startNode } from "./start-node.ts";

/** @param folders of the services to run @throws ConfigError, StartError */
export async function joinAlone(
  env: NodeJS.ProcessEnv,
  operator: string | undefined,
  folders: readonly string[],
  onFailure: (reason: string) => void,
): Promise<ServiceConnection> {
  // Without the bus: other nodes must not send calls to this short-lived node.
  const config = {
    ...readConfig(env),
    natsUrls: undefined,
    healthPort: undefined,
    metricsPort: undefined,
    logLevel: "error" as const,
  };
  try {
    return await startNode({ config, operator, isClient: false, folders, onFailure });
  } catch (error) {
    throw error instanceof Error ? error : new StartError(String(error));
  }
}
