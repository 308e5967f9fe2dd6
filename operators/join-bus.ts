// An operator's own node in a running cluster: it joins NATS as any process does, offers nothing, listens on no port and writes
// no file. So it runs beside a process of ours with that process's environment (`kubectl exec`), or on any machine that has the
// bus's login and its secret.
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { readConfig } from "../host/settings/config.ts";
import { StartError } from "../services/shared/start-error.ts";
import { accountSettings } from "../host/settings/accounts.ts";
import { natsSettings } from "../host/settings/nats.ts";
import { runtimeSettings } from "../host/settings/runtime.ts";
import type { Joined } from "./joined.ts";
import { startNode } from "./start-node.ts";

const hostCharsMax = 60;

/** All that a node needs to join; what else a process was given (logins, ports, its own name) is for its own use. */
const needed = [
  ...Object.values(natsSettings),
  accountSettings.busSecret,
  // The bus's secret follows from it where there is no other.
  accountSettings.bootSecret,
  runtimeSettings.namespace,
  runtimeSettings.requestTimeoutMs,
].map(({ name }) => name);

/** @throws ConfigError, or StartError when the bus cannot be joined */
export async function joinBus(env: NodeJS.ProcessEnv, operator: string | undefined): Promise<Joined> {
  const config = { ...readConfig(busEnvironment(env)), nodeId: ownName(), logLevel: "error" as const };
  const onFailure = (reason: string) => {
    throw new StartError(reason);
  };
  return startNode({ config, operator, isClient: true, folders: [], onFailure });
}

function busEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = needed.flatMap((name) => [name, `${name}_FILE`]);
  const given = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  // As a gateway it needs no other secret, and no database.
  return { ...Object.fromEntries(given), SERVICES: "api-gateway", DEMO_MODE: "false" };
}

/** The process whose environment this is has its name already, and no two nodes may have one. */
function ownName(): string {
  const host = hostname()
    .replace(/[^\w.-]/g, "-")
    .slice(0, hostCharsMax);
  return `operator-${host}-${process.pid}-${randomBytes(4).toString("hex")}`;
}
