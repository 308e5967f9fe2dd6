// HTTP by hand: bytes as they are, over a connection of one's own, from an address of one's own.
import { connect, type Socket } from "node:net";

export interface Wire {
  socket: Socket;
  /** Everything that came so far. */
  received(): string;
  /** Resolves when what came matches; rejects when the connection ends before. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with everything that came once the connection has ended, by whichever side and however. */
  ended: Promise<string>;
}

/** @param from a loopback address to come from: all of 127.0.0.0/8 is this machine */
export function open(url: string, from = "127.0.0.1"): Wire {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  let received = "";
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  socket.setNoDelay(true);
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    received += chunk;
    look();
  });
  // A reset is one way to end.
  socket.on("error", () => {});
  const ended = new Promise<string>((resolve) => {
    socket.once("close", () => {
      look();
      resolve(received);
    });
  });
  const until = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const watcher = () => {
        if (!pattern.test(received) && !socket.closed) return;
        watchers.delete(watcher);
        if (pattern.test(received)) resolve(received);
        else reject(new Error(`the connection ended before ${pattern} came:\n${received}`));
      };
      watchers.add(watcher);
      watcher();
    });
  return { socket, received: () => received, until, ended };
}

export const head = (method: string, path: string, headers: readonly string[] = []): string =>
  [`${method} ${path} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n");

/** The statuses of all answers in what came, interim ones too. */
export const statusesIn = (received: string): number[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
