// Connects an operator's program to the service: by NATS if the environment names it, otherwise by the socket of a process on
// this machine. With --alone the program runs the services itself.
import { readConfig } from "../host/settings/config.ts";
import { StartError } from "../services/shared/start-error.ts";
import { accountName } from "../services/shared/operator.ts";
import { runtimeSettings } from "../host/settings/runtime.ts";
import type { Config } from "../host/settings/settings.ts";
import { Unreached } from "./failures.ts";
import type { ServiceConnection } from "./service-connection.ts";
import { joinProcess } from "./join-process.ts";

export interface Joining {
  env: NodeJS.ProcessEnv;
  /** The operator's name; undefined: unnamed, may only read. */
  operator: string | undefined;
  /** The services that the program runs itself; undefined: it connects to the running service. */
  alone: readonly string[] | undefined;
  /** Called when the service has ended. */
  onEnd: () => void;
}

/** @throws ConfigError, Unreached without a service to connect to, StartError if the program cannot run alone */
export async function joinService({ env, operator, alone, onEnd }: Joining): Promise<ServiceConnection> {
  // Loaded only if needed: loading the service's code takes about a second.
  if (alone !== undefined) return (await import("./join-alone.ts")).joinAlone(env, operator, alone, onEnd);
  const isOnBus = [env["NATS_URL"], env["NATS_URL_FILE"]].some((text) => (text ?? "").trim() !== "");
  try {
    return isOnBus
      ? await (await import("./join-bus.ts")).joinBus(env, operator)
      : await joinProcess(ownSettings(env).dataDir, operator, onEnd);
  } catch (error) {
    throw error instanceof StartError ? new Unreached(error.message, { cause: error }) : error;
  }
}

/** @param as the option of the program @returns undefined if neither a setting nor the account gives a name */
export function operatorName(env: NodeJS.ProcessEnv, as: string | undefined): string | undefined {
  return as ?? ownSettings(env).actAs ?? accountName();
}

/** Reads only its own settings: those of the service do not matter here, and may be invalid. */
function ownSettings(env: NodeJS.ProcessEnv): Config {
  const names = [runtimeSettings.dataDir, runtimeSettings.actAs].map(({ name }) => name);
  return readConfig(
    Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
  );
}
