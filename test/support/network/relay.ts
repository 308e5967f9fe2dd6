// PostgreSQL under an address of a test's network: the embedded one listens on its socket only.
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

export interface Relay {
  port: number;
  stop(): Promise<void>;
}

/** @param folder of PostgreSQL's socket */
export async function startRelay(
  host: string,
  { host: folder, port }: { host: string; port: number },
): Promise<Relay> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(join(folder, `.s.PGSQL.${port}`));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.on("error", () => undefined);
      one.once("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    async stop() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
