// The connection to NATS, watched. Moleculer thinks itself connected for ever: requests would wait in the client's
// buffer for a server that is away until their time is up, and be sent, stale, when it is back.
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { Middleware, ServiceBroker } from "moleculer";
import { connect } from "nats";
import { errorCode, StartError } from "../../services/shared/start-error.ts";
import { inTime } from "../process/health-probes.ts";
import type { BusTraffic } from "../metrics/bus-metrics.ts";
import type { NatsLink } from "./nats-options.ts";

const firstWaitMsMax = 30_000;
const retryMs = 250;
const attemptMsMax = 2_000;

/** May be over in a moment; anything else (no TLS there, a certificate: ERR_…) will not. */
const passing = /^(?:CONNECTION_\w+|TIMEOUT|DISCONNECT|E[A-Z_]+)$/;
const isPassing = (code: string) => passing.test(code) && !code.startsWith("ERR_");

// What Moleculer does not declare.
interface Pending {
  action: { name: string };
  nodeID: string;
  reject(error: Error): void;
}
interface Link {
  tx: {
    connected: boolean;
    /** Only a transporter for NATS has one. */
    client?: { status(): AsyncIterable<{ type: string }>; flush(): Promise<void> } | null;
  };
  pendingRequests: Map<string, Pending>;
  discoverer: { sendLocalNodeInfo(node?: string): Promise<void>; discoverAllNodes(): Promise<unknown> };
}

interface Nodes {
  toArray(): { id: string; local: boolean }[];
  disconnected(id: string, unexpected: boolean): void;
}

/** @param traffic is counted up */
export function busLink(nats: NatsLink, log: Logger, traffic: BusTraffic): Middleware {
  return {
    name: "bus-link",
    async starting() {
      await waitForBus(nats, log);
    },
    created(broker: ServiceBroker) {
      broker.localBus.on("$transporter.connected", () => void follow(broker, log, traffic));
    },
  };
}

/**
 * Moleculer tells the other nodes what it offers only a second after its start: whoever stopped another node as
 * soon as this one was ready would leave them without any. Each is told by itself, as one that has not met this start
 * of this node believes nothing that is said to all (bus-starts.ts).
 */
export async function notifyNodes(broker: ServiceBroker): Promise<void> {
  const link = linkOf(broker);
  if (link === undefined) return;
  await link.discoverer.sendLocalNodeInfo();
  for (const { id, local } of nodesOf(broker).toArray())
    if (!local) await link.discoverer.sendLocalNodeInfo(id);
  // Where that fails, readiness is a matter of the bus (process-health.ts), and the start need not fail for it.
  if (link.tx.client != null) await inTime(link.tx.client.flush());
}

/** @throws StartError when the bus refuses the login, or cannot be reached for half a minute */
async function waitForBus({ options, loginFrom }: NatsLink, log: Logger): Promise<void> {
  const attempt = { ...options, waitOnFirstConnect: false, reconnect: false, timeout: attemptMsMax };
  const deadline = performance.now() + firstWaitMsMax;
  for (let told = false; ; told = true) {
    try {
      const trial = await connect(attempt);
      return await trial.close();
    } catch (error) {
      const reason = errorCode(error) || "unknown";
      const bus = `The bus at ${[options.servers].flat().join(", ")}`;
      if (reason === "AUTHORIZATION_VIOLATION")
        throw new StartError(`${bus} refuses the login of ${loginFrom}.`);
      if (!isPassing(reason) || performance.now() > deadline)
        throw new StartError(`${bus} cannot be reached with NATS_URL (${reason}).`);
      if (!told) log.warn({ bus: options.servers, reason }, "waiting for the bus");
    }
    await delay(retryMs);
  }
}

/** Undefined where there is no bus. */
function linkOf(broker: ServiceBroker): Link | undefined {
  // Moleculer declares its transit without the transporter and the open requests, and as if it were always there.
  return (broker.transit as unknown as Link | null | undefined) ?? undefined;
}

/** Ends with the connection. */
async function follow(broker: ServiceBroker, log: Logger, traffic: BusTraffic): Promise<void> {
  const link = linkOf(broker);
  if (link === undefined) return;
  for await (const { type } of link.tx.client?.status() ?? []) {
    if (type === "disconnect") {
      log.warn("the bus is away");
      traffic.disconnects++;
      refuse(link, broker);
    } else if (type === "reconnect") {
      log.warn("the bus is back");
      traffic.reconnects++;
      await resume(link);
    }
  }
}

/**
 * From here on Moleculer refuses requests at once; those under way will not be answered any more. The other nodes
 * count as gone until they are heard again: a request to one that is not back yet would be lost, and waited for.
 */
function refuse(link: Link, broker: ServiceBroker): void {
  link.tx.connected = false;
  for (const [id, pending] of link.pendingRequests) {
    link.pendingRequests.delete(id);
    pending.reject(Object.assign(new Error("The bus is away"), { name: "RequestRejectedError" }));
  }
  const nodes = nodesOf(broker);
  for (const node of nodes.toArray()) if (!node.local) nodes.disconnected(node.id, true);
}

function nodesOf(broker: ServiceBroker): Nodes {
  // Moleculer declares its registry's catalogues with classes it does not export.
  return (broker.registry as unknown as { nodes: Nodes }).nodes;
}

async function resume(link: Link): Promise<void> {
  link.tx.connected = true;
  await link.discoverer.sendLocalNodeInfo();
  await link.discoverer.discoverAllNodes();
}
