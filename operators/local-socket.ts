// The socket by which the REPL and the command line connect to a running process. It lies in DATA_DIR, and only its owner can
// open it. The process speaks Moleculer's own protocol on it, one packet per line. A client acts as an operator with the name of
// its account, and may call everything that the process can call: with a bus the whole cluster.
import { randomBytes } from "node:crypto";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { ServiceBroker } from "moleculer";
import type { Caller } from "../services/shared/caller.ts";
import { makeFolder } from "../services/shared/make-folder.ts";
import { exposedFacts } from "../services/shared/errors.ts";
import { operatorCaller } from "../services/shared/operator.ts";
import type { Runtime } from "../host/process/runtime.ts";
import { eachLine, type Packet, packetLine } from "./packet-lines.ts";

export const socketName = /^repl-\d+-[0-9a-f]{8}\.sock$/;
const clientsMax = 8;
/** https://man7.org/linux/man-pages/man7/unix.7.html: 108 bytes with the final zero, fewer on macOS. */
const pathBytesMax = 100;

interface KnownNode {
  id: string;
  local: boolean;
  available: boolean;
  rawInfo: object | null;
}

/** Without the socket the service works nevertheless; the failure is logged. @returns a function that closes it */
export async function openLocalSocket(broker: ServiceBroker, runtime: Runtime): Promise<() => Promise<void>> {
  const { dataDir } = runtime.config;
  const path = join(dataDir, `repl-${process.pid}-${randomBytes(4).toString("hex")}.sock`);
  const clients = new Set<Socket>();
  const server = createServer((socket) => {
    clients.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => clients.delete(socket));
    eachLine(socket, (packet) => answer(broker, socket, packet));
  });
  server.maxConnections = clientsMax;
  try {
    if (Buffer.byteLength(path) > pathBytesMax) throw new Error("the path of DATA_DIR is too long");
    await makeFolder(dataDir, 0o700);
    await listenOn(server, path);
    await chmod(path, 0o600);
  } catch (error) {
    runtime.log.warn({ err: error }, "the REPL cannot join this process");
  }
  const update = () => {
    for (const socket of clients) sendNodes(broker, socket);
  };
  broker.localBus.on("$services.changed", update);
  return async () => {
    broker.localBus.off("$services.changed", update);
    for (const socket of clients) socket.destroy();
    server.close();
    await rm(path, { force: true });
  };
}

function listenOn(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
}

async function answer(broker: ServiceBroker, socket: Socket, { cmd, payload }: Packet): Promise<void> {
  if (cmd === "DISCOVER") sendNodes(broker, socket);
  if (cmd !== "REQ") return;
  const { id, action, params, meta } = payload as Packet["payload"] & { action?: string };
  const reply = { ver: broker.PROTOCOL_VERSION, sender: broker.nodeID, id, meta: {} };
  try {
    const data = await broker.call(String(action), params, { meta: { caller: operatorOf(meta) } });
    socket.write(packetLine("RES", { ...reply, success: true, data: data ?? null }));
  } catch (error) {
    socket.write(packetLine("RES", { ...reply, success: false, error: errorForClient(error), data: null }));
  }
}

/** Moleculer's errors for a call that reached no node, or was not answered. */
const isOfTheBus = (error: unknown) => error instanceof Error && /^(?:Service|Request)/.test(error.name);

/** @returns the error for the client; the details of any other error are in the log of its node */
function errorForClient(error: unknown): object {
  if (exposedFacts(error) === undefined && !isOfTheBus(error))
    return {
      name: "MoleculerError",
      message: "That went wrong; the log has the reason",
      code: 500,
      type: "internal_error",
    };
  const { name, message, code, type, data } = error as Error & Record<string, unknown>;
  return { name, message, code, type, data };
}

/** Only one account can open the socket, so the name that the client states is trusted. */
function operatorOf(meta: unknown): Caller {
  const { operator } = (meta ?? {}) as { operator?: unknown };
  return operatorCaller(operator);
}

/** Sends all nodes that this one knows, itself included, with their services. */
function sendNodes(broker: ServiceBroker, socket: Socket): void {
  // The registry's types leave its nodes out.
  const { nodes } = broker.registry as unknown as { nodes: { toArray(): KnownNode[] } };
  for (const node of nodes.toArray()) {
    const info = node.local ? broker.getLocalNodeInfo() : node.rawInfo;
    if (!node.available || info === null) {
      socket.write(packetLine("DISCONNECT", { ver: broker.PROTOCOL_VERSION, sender: node.id }));
    } else socket.write(packetLine("INFO", { ...info, ver: broker.PROTOCOL_VERSION, sender: node.id }));
  }
}
