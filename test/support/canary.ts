// Listeners that nobody may reach: on every loopback address, on one port, with a count of who came.
import { createServer, type Server, type Socket } from "node:net";

export interface Canary {
  port: number;
  connections(): number;
  stop(): Promise<void>;
}

export async function startCanary(): Promise<Canary> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const open = (host: string, port: number): Promise<Server> =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => {
        connections++;
        sockets.add(socket.resume());
        socket.on("error", () => undefined);
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ncanary");
      });
      server.once("error", reject);
      server.listen(port, host, () => resolve(server));
    });
  // Dual-stack: takes 127.0.0.0/8, ::1 and mapped addresses alike; IPv4 alone where the machine has no IPv6.
  const server = await open("::", 0).catch(() => open("0.0.0.0", 0));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    connections: () => connections,
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
