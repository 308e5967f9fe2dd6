// A real nats-server for tests, on a free loopback port, with a login.
import { connect, createServer } from "node:net";
import { findProgram, restartable } from "./programs.ts";
import { eventually } from "./service.ts";

const login = { user: "records", pass: "bus-login-of-tests" };

export const program = findProgram("nats-server");

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

export interface NatsServer {
  url: string;
  /** Without the login. */
  address: string;
  login: { user: string; pass: string };
  processId(): number;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** Again on the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param args more of nats-server's own, e.g. a configuration file; then the login is theirs
 * @param monitorPort where it tells what passes through it: https://docs.nats.io/running-a-nats-service/nats_admin/monitoring
 */
export async function startNats(
  args: readonly string[] = [],
  host = "127.0.0.1",
  monitorPort?: number,
): Promise<NatsServer> {
  if (program === undefined) throw new Error("no nats-server on PATH");
  const port = await freePort();
  const auth = args.length === 0 ? ["--user", login.user, "--pass", login.pass] : args;
  const { processId, start, end } = restartable(
    program,
    [
      "-a",
      host,
      "-p",
      String(port),
      ...(monitorPort === undefined ? [] : ["-m", String(monitorPort)]),
      ...auth,
    ],
    () => eventually(() => takesConnections(port, host)),
  );
  await start();
  const address = `${host}:${port}`;
  return {
    url: `nats://${login.user}:${login.pass}@${address}`,
    address,
    login,
    processId,
    kill: () => end("SIGKILL"),
    start,
    stop: () => end("SIGTERM"),
  };
}

export function takesConnections(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const answer = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}
