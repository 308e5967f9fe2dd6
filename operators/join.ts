// How an operator's program reaches the service: by NATS where the environment names it, else by the socket of a process on this
// machine; or not at all, where it does the work itself.
import { readConfig } from "../host/settings/config.ts";
import { StartError } from "../services/shared/start-error.ts";
import { accountName } from "../services/shared/operator.ts";
import { runtimeSettings } from "../host/settings/runtime.ts";
import type { Config } from "../host/settings/settings.ts";
import { Unreached } from "./failures.ts";
import type { Joined } from "./joined.ts";
import { joinProcess } from "./join-process.ts";

export interface Joining {
  env: NodeJS.ProcessEnv;
  /** Who it is; undefined: somebody who only looks. */
  operator: string | undefined;
  /** The services that the program runs itself; undefined: it joins the service that runs. */
  alone: readonly string[] | undefined;
  /** Told when the service has gone. */
  onEnd: () => void;
}

/** @throws ConfigError, Unreached where there is no service to join, StartError where the program cannot do it alone */
export async function joinService({ env, operator, alone, onEnd }: Joining): Promise<Joined> {
  // Loaded when they are needed: a process of the service is a second to load.
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

/** @param as what was said to the program @returns undefined where neither a setting nor the account names anybody */
export function operatorName(env: NodeJS.ProcessEnv, as: string | undefined): string | undefined {
  return as ?? ownSettings(env).actAs ?? accountName();
}

/** The service's other settings are its own affair, and may be wrong here. */
function ownSettings(env: NodeJS.ProcessEnv): Config {
  const names = [runtimeSettings.dataDir, runtimeSettings.actAs].map(({ name }) => name);
  return readConfig(
    Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]))),
  );
}
