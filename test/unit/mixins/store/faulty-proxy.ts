// Between a store and its server: passes requests on as they are, and spoils those that a test names.
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Fault =
  | "none"
  /** Done by the server, but its answer never comes: the connection breaks. */
  | "lose the answer"
  /** Half of the answer's body, then the connection breaks. */
  | "cut the answer"
  /** Half of the answer's body, then nothing. */
  | "stall the answer"
  /** Not passed on, and never answered. */
  | "hang"
  | { status: number; body?: string };

export type Decide = (line: string) => Fault | Promise<Fault>;

export interface FaultyProxy {
  endpoint: string;
  /** All requests so far, as "PUT /bucket/key?query". */
  seen: string[];
  /** Decides on each request, at once or after a while; by default none is spoilt. */
  spoil(decide: Decide): void;
  stop(): Promise<void>;
}

export async function startFaultyProxy(endpoint: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(endpoint);
  const seen: string[] = [];
  let decide: Decide = () => "none";

  const answerWith = (answer: IncomingMessage, response: ServerResponse, fault: Fault) => {
    if (fault === "lose the answer") {
      answer.resume().once("end", () => response.destroy());
      return;
    }
    response.writeHead(answer.statusCode ?? 500, answer.headers);
    if (fault === "none") {
      answer.pipe(response);
      return;
    }
    const half = Math.floor(Number(answer.headers["content-length"] ?? "0") / 2);
    let sent = 0;
    answer.on("data", (chunk: Buffer) => {
      const rest = chunk.subarray(0, Math.max(0, half - sent));
      sent += rest.length;
      response.write(rest);
      if (sent < half) return;
      answer.pause();
      if (fault === "cut the answer") response.destroy();
    });
  };

  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const line = `${incoming.method} ${incoming.url}`;
    seen.push(line);
    incoming.on("error", () => {});
    const fault = await decide(line);
    if (fault === "hang") return void incoming.resume();
    if (typeof fault === "object") {
      incoming.resume().once("end", () => response.writeHead(fault.status).end(fault.body));
      return;
    }
    const { method, headers, url } = incoming;
    // With the Host that was signed.
    const passed = request({ hostname, port, method, headers, path: url, agent: false }, (answer) => {
      answer.on("error", () => response.destroy());
      answerWith(answer, response, fault);
    });
    passed.on("error", () => response.destroy());
    response.once("close", () => passed.destroy());
    incoming.pipe(passed);
  };
  const server = createServer((incoming, response) => void answer(incoming, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // What `address` gives for a server on a port.
  const { port: own } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${own}`,
    seen,
    spoil: (by) => void (decide = by),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
