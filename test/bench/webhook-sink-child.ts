// A child process, the receiver of the webhooks' bench, on the load's core: answers 200 at once, never answers below /hang,
// and knows when each message came first and how old its event was then. GET /stats tells and forgets.
import { createServer } from "node:http";

/** Milliseconds between event and first arrival, of all but what hangs. */
export interface SinkStats {
  requests: number;
  messages: number;
  latenciesMs: number[];
}

let requests = 0;
let latenciesMs: number[] = [];
const seen = new Set<string>();

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const { url = "", method } = request;
  if (method === "GET") {
    const stats: SinkStats = { requests, messages: seen.size, latenciesMs };
    requests = 0;
    latenciesMs = [];
    seen.clear();
    return void response.end(JSON.stringify(stats));
  }
  const at = Date.now();
  let body = "";
  request.setEncoding("latin1").on("data", (chunk: string) => (body += chunk));
  request.on("end", () => {
    if (url.startsWith("/hang")) return;
    requests++;
    const id = String(request.headers["webhook-id"]);
    if (!seen.has(id)) {
      seen.add(id);
      const timestamp = /"timestamp":"([^"]+)"/.exec(body)?.[1];
      if (timestamp !== undefined) latenciesMs.push(at - Date.parse(timestamp));
    }
    response.end();
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`sink ${port}\n`);
});
process.on("SIGTERM", () => process.exit(0));
