// A receiver of webhooks as a stranger would write one, on loopback.
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** The bytes as they came. */
  body: string;
  at: number;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** How it answers from now on; 200 unless told otherwise. */
  answer: (received: Received, response: ServerResponse) => void;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one: Received = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        at: Date.now(),
      };
      received.push(one);
      receiver.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: (_received, response) => void response.end("ok"),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** Throws unless the secret signed it just now. A plain secret is its own bytes. @returns the body */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
export function verified(secret: string, { headers, body }: Pick<Received, "headers" | "body">): any {
  const format = secret.startsWith("whsec_") ? {} : ({ format: "raw" } as const);
  return new Webhook(secret, format).verify(body, headers as Record<string, string>);
}
