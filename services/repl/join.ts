// The REPL's own node: a Moleculer broker without services whose only link is the socket of a running process.
import { readdir, rm, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { type Middleware, ServiceBroker, Transporters } from "moleculer";
import { errorCode, StartError } from "../shared/embedded/start-error.ts";
import { doorName } from "./door.ts";
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

/** @param onEnd told when the process has gone @throws StartError when none runs on the folder */
export async function joinProcess(dataDir: string, onEnd: () => void): Promise<ServiceBroker> {
  const socket = await openSocket(dataDir);
  socket.once("close", onEnd);
  const broker = new ServiceBroker({
    nodeID: `repl-${process.pid}`,
    transporter: new SocketTransporter(socket),
    logger: false,
    validator: false,
    internalServices: false,
    heartbeatInterval: 0,
    requestTimeout: callMsMax,
    skipProcessEventRegistration: true,
    transit: { disableReconnect: true },
    middlewares: [asOperator(userInfo().username)],
  });
  await broker.start();
  return broker;
}

/** Who one is, the process says: whatever else a command would send stays here. */
function asOperator(operator: string): Middleware {
  // Moleculer declares this hook as if it answered a promise; it answers the wrapped function.
  return {
    call: ((next: (...call: unknown[]) => unknown) => (name: unknown, params: unknown, options: object) =>
      next(name, params, { ...options, meta: { operator } })) as unknown as NonNullable<Middleware["call"]>,
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
