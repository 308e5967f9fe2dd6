// An operator's node in a running cluster: it connects to NATS like any process, offers no services, listens on no port and
// writes no file. So it can run beside a process with that process's environment (`kubectl exec`), or on any machine with the
// bus's login and secret.
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { readConfig } from "../host/settings/config.ts";
import { StartError } from "../services/shared/start-error.ts";
import { accountSettings } from "../host/settings/accounts.ts";
import { natsSettings } from "../host/settings/nats.ts";
import { runtimeSettings } from "../host/settings/runtime.ts";
import type { ServiceConnection } from "./service-connection.ts";
import { startNode } from "./start-node.ts";

const hostCharsMax = 60;

/** The settings that the node needs; other settings of the process (logins, ports, its node id) are not read. */
const needed = [
  ...Object.values(natsSettings),
  accountSettings.busSecret,
  // The bus secret is derived from it if it is not set.
  accountSettings.bootSecret,
  runtimeSettings.namespace,
  runtimeSettings.requestTimeoutMs,
].map(({ name }) => name);

/** @throws ConfigError, or StartError when the bus cannot be joined */
export async function joinBus(
  env: NodeJS.ProcessEnv,
  operator: string | undefined,
): Promise<ServiceConnection> {
  const config = { ...readConfig(busEnvironment(env)), nodeId: ownName(), logLevel: "error" as const };
  const onFailure = (reason: string) => {
    throw new StartError(reason);
  };
  return startNode({ config, operator, isClient: true, folders: [], onFailure });
}

function busEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = needed.flatMap((name) => [name, `${name}_FILE`]);
  const given = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  // With the gateway's services no other secret and no database is needed.
  return { ...Object.fromEntries(given), SERVICES: "api-gateway", DEMO_MODE: "false" };
}

/** The process with this environment already uses its NODE_ID, and two nodes must not have the same. */
function ownName(): string {
  const host = hostname()
    .replace(/[^\w.-]/g, "-")
    .slice(0, hostCharsMax);
  return `operator-${host}-${process.pid}-${randomBytes(4).toString("hex")}`;
}
