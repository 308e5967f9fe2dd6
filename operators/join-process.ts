// An operator's own node beside a process on this machine: a Moleculer broker without services whose only link is the socket
// of that process.
import { readdir, rm, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { ServiceBroker, Transporters } from "moleculer";
import { errorCode, StartError } from "../services/shared/start-error.ts";
import { doorName } from "./local-socket.ts";
import type { Joined } from "./joined.ts";
import { eachLine, packetLine } from "./packet-lines.ts";

const callMsMax = 120_000;

/** Packets go to the one process at the other end, whatever their target. */
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
 * @param operator told to the process, which takes its word: the socket is for one account
 * @param onEnd told when the process has gone
 * @throws StartError when none runs on the folder
 */
export async function joinProcess(
  dataDir: string,
  operator: string | undefined,
  onEnd: () => void,
): Promise<Joined> {
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
    // Leaving ends the connection too.
    if (!isLeaving && broker.started) onEnd();
  });
  // A process that ended meanwhile has closed it already.
  if (socket.destroyed) onEnd();
  return {
    broker,
    operator,
    // Whatever else a command would send stays here.
    meta: () => ({ operator }),
    async leave() {
      isLeaving = true;
      await broker.stop();
    },
  };
}

/** The newest of the processes that are there; sockets of those that died are removed. */
async function openSocket(dataDir: string): Promise<Socket> {
  const names = await readdir(dataDir).catch((error: unknown): string[] => {
    if (errorCode(error) === "ENOENT") return [];
    throw new StartError(
      `${dataDir} may not be read by this account: the REPL is for the account that runs the service.`,
    );
  });
  const doors = await Promise.all(
    names
      .filter((name) => doorName.test(name))
      .map(async (name) => {
        const path = join(dataDir, name);
        return { path, at: (await stat(path).catch(() => ({ mtimeMs: 0 }))).mtimeMs };
      }),
  );
  for (const { path } of doors.sort((a, b) => b.at - a.at)) {
    const socket = await tryDoor(path);
    if (socket !== undefined) return socket;
  }
  throw new StartError(
    `No service is running on ${dataDir}: start it with \`npm start\`, or name its DATA_DIR.`,
  );
}

function tryDoor(path: string): Promise<Socket | undefined> {
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
