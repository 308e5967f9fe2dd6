// An operator's node beside a process on this machine: a Moleculer broker without services that is connected only to the socket
// of that process.
import { readdir, rm, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { ServiceBroker, Transporters } from "moleculer";
import { errorCode, StartError } from "../services/shared/start-error.ts";
import { socketName } from "./local-socket.ts";
import type { ServiceConnection } from "./service-connection.ts";
import { eachLine, packetLine } from "./packet-lines.ts";

const callMsMax = 120_000;

/** Sends all packets to the one process at the other end, whatever their target. */
class SocketTransporter extends Transporters.Base {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
  }

  override async connect(): Promise<void> {
    eachLine(this.#socket, ({ cmd, payload }) => this.receive(cmd, Buffer.from(JSON.stringify(payload))));
    await this.onConnected(false);
  }

  override async disconnect(): Promise<void> {
    this.#socket.end();
  }

  override async subscribe(): Promise<void> {}

  override async subscribeBalancedRequest(): Promise<void> {}

  override async subscribeBalancedEvent(): Promise<void> {}

  override async send(): Promise<void> {}

  override async publish(packet: { type: string; payload: object }): Promise<void> {
    const { PROTOCOL_VERSION: ver, nodeID: sender } = this.broker;
    this.#socket.write(packetLine(packet.type, { ...packet.payload, ver, sender }));
  }
}

/**
 * @param operator name sent to the process, which trusts it: only one account can open the socket
 * @param onEnd called when the process has ended
 * @throws StartError when no process runs on the folder
 */
export async function joinProcess(
  dataDir: string,
  operator: string | undefined,
  onEnd: () => void,
): Promise<ServiceConnection> {
  const socket = await openSocket(dataDir);
  const broker = new ServiceBroker({
    nodeID: `operator-${process.pid}`,
    transporter: new SocketTransporter(socket),
    logger: false,
    validator: false,
    internalServices: false,
    heartbeatInterval: 0,
    requestTimeout: callMsMax,
    skipProcessEventRegistration: true,
    transit: { disableReconnect: true },
  });
  await broker.start();
  let isLeaving = false;
  socket.once("close", () => {
    // Leaving also closes the connection.
    if (!isLeaving && broker.started) onEnd();
  });
  // The process may have ended meanwhile.
  if (socket.destroyed) onEnd();
  return {
    broker,
    operator,
    // No other meta is sent.
    meta: () => ({ operator }),
    async leave() {
      isLeaving = true;
      await broker.stop();
    },
  };
}

/** Connects to the newest process; sockets of dead processes are removed. */
async function openSocket(dataDir: string): Promise<Socket> {
  const names = await readdir(dataDir).catch((error: unknown): string[] => {
    if (errorCode(error) === "ENOENT") return [];
    throw new StartError(
      `${dataDir} may not be read by this account: the REPL is for the account that runs the service.`,
    );
  });
  const sockets = await Promise.all(
    names
      .filter((name) => socketName.test(name))
      .map(async (name) => {
        const path = join(dataDir, name);
        return { path, at: (await stat(path).catch(() => ({ mtimeMs: 0 }))).mtimeMs };
      }),
  );
  for (const { path } of sockets.sort((a, b) => b.at - a.at)) {
    const socket = await trySocket(path);
    if (socket !== undefined) return socket;
  }
  throw new StartError(
    `No service is running on ${dataDir}: start it with \`npm start\`, or name its DATA_DIR.`,
  );
}

function trySocket(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.off("error", failed);
      socket.on("error", () => socket.destroy());
      resolve(socket);
    });
    const failed = (error: Error) => {
      if (errorCode(error) === "ECONNREFUSED") void rm(path, { force: true });
      resolve(undefined);
    };
    socket.once("error", failed);
  });
}
