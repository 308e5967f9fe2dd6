// A server that takes every connection and never says a word: what a hanging store, mail server or Bot API looks like.
import { createServer, type Socket } from "node:net";

export interface SilentServer {
  port: number;
  /** Connections that somebody waits on at this moment. */
  waiting(): number;
  stop(): Promise<void>;
}

export async function startSilentServer(): Promise<SilentServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    // Read and thrown away, so that it is seen when the other side hangs up.
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return {
    port: address.port,
    waiting: () => sockets.size,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
