// Work that is done without a running service: the program runs the services that it needs itself, on the same database and
// store. Only an embedded database has one user at a time.
import { readConfig } from "../host/settings/config.ts";
import { StartError } from "../services/shared/start-error.ts";
import type { Joined } from "./joined.ts";
import { startNode } from "./start-node.ts";

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
  try {
    return await startNode({ config, operator, isClient: false, folders, onFailure });
  } catch (error) {
    throw error instanceof Error ? error : new StartError(String(error));
  }
}
