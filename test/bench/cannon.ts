// A child process: autocannon with one request per connection, each connection with its own token (its own list of
// requests would make all connections send the same one at the same time).
import type { Request } from "./clients.ts";
import type { LoadResult } from "./load.ts";
import { readJob } from "./task.ts";

export interface CannonJob {
  url: string;
  requests: readonly Request[];
  connections: number;
  /** One of the two. */
  seconds?: number;
  amount?: number;
}

interface Client {
  setHeaders(headers: Record<string, string>): void;
}
interface Fired {
  requests: { total: number };
  duration: number;
  latency: { p50: number; p99: number };
  errors: number;
  non2xx: number;
}
// autocannon has no types; these are the fields its README documents and that are used here.
type Autocannon = (options: Record<string, unknown>) => Promise<Fired>;
const name: string = "autocannon";
const { default: autocannon } = (await import(name)) as { default: Autocannon };

const { url, requests, connections, seconds, amount } = await readJob<CannonJob>();
const [first] = requests;
if (first === undefined) throw new Error("no requests were given");
let clients = 0;
const fired = await autocannon({
  url: `${url}${first.path}`,
  method: first.method,
  connections,
  ...(amount === undefined ? { duration: seconds } : { amount }),
  setupClient: (client: Client) => client.setHeaders(requests[clients++ % requests.length]?.headers ?? {}),
});
const result: LoadResult = {
  requests: fired.requests.total,
  seconds: fired.duration,
  p50Ms: fired.latency.p50,
  p99Ms: fired.latency.p99,
  failed: fired.errors + fired.non2xx,
};
process.stdout.write(JSON.stringify(result));
