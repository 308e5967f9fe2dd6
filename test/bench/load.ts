// Load at full speed over keep-alive connections: by wrk where it is installed, else by autocannon, which is slower
// itself and may then be what is measured (the report says how busy the load's core was).
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CannonJob } from "./cannon.ts";
import type { ClientsJob, ClientsResult, Request } from "./clients.ts";
import type { Cores } from "./cores.ts";
import { childProgram, type RunningTask, runTask, startTask } from "./task.ts";

export interface LoadResult {
  requests: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers that are no 2xx, and broken connections. */
  failed: number;
}

export interface LoadJob {
  url: string;
  /** Taken in turn: several tokens, so that nothing can be shared between equal requests. */
  requests: readonly Request[];
  connections: number;
  seconds: number;
}

/** autocannon takes a second at least. */
const fewRequests = 500;
const never = (): never => {
  throw new Error("no requests were given");
};

export class Load {
  readonly #cores: Cores;
  readonly #folder: string;
  readonly #amount: number | undefined;
  readonly generator: "wrk" | "autocannon";
  #scripts = 0;

  /**
   * @param folder for the generator's scripts
   * @param amount requests that a run sends instead of going on for its time
   */
  constructor(cores: Cores, folder: string, amount?: number) {
    this.#cores = cores;
    this.#folder = folder;
    this.#amount = amount;
    this.generator = spawnSync("wrk", ["--version"]).error === undefined ? "wrk" : "autocannon";
  }

  run(job: LoadJob): Promise<LoadResult> {
    if (this.#amount !== undefined) return this.amount(job, this.#amount);
    return this.generator === "wrk" ? this.#wrk(job) : this.#cannon(job);
  }

  /** A fixed number of requests. */
  async amount(job: Omit<LoadJob, "seconds">, amount: number): Promise<LoadResult> {
    const { url, requests, connections } = job;
    if (amount > fewRequests) return this.#cannon({ url, requests, connections, amount });
    const all = Array.from({ length: amount }, (_, n) => requests[n % requests.length] ?? never());
    const { answered, ...rest } = await this.clients({ kind: "each", url, requests: all, connections })
      .result;
    return { ...rest, requests: answered };
  }

  clients(job: ClientsJob): RunningTask<ClientsResult> {
    return startTask(this.#cores.onLoadCore(childProgram("clients.ts")), job);
  }

  #cannon(job: CannonJob): Promise<LoadResult> {
    return runTask(this.#cores.onLoadCore(childProgram("cannon.ts")), job);
  }

  #wrk({ url, requests, connections, seconds }: LoadJob): Promise<LoadResult> {
    // One each: several may run at a time.
    const script = join(this.#folder, `requests-${this.#scripts++}.lua`);
    writeFileSync(script, luaOf(requests));
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s", "-s", script, url];
    const quiet = ["sh", "-c", 'wrk "$@" | sed -n "s/^RESULT //p"', "sh", ...args];
    return runTask(this.#cores.onLoadCore(quiet), undefined);
  }
}

function luaOf(requests: readonly Request[]): string {
  const formatted = requests.map(({ method, path, headers }) => {
    const fields = Object.entries(headers).map(([name, value]) => `[${lua(name)}]=${lua(value)}`);
    return `wrk.format(${lua(method)}, ${lua(path)}, {${fields.join(", ")}})`;
  });
  return `local requests, sent = {}, 0
init = function() requests = {${formatted.join(",\n")}} end
request = function() sent = sent + 1; return requests[(sent - 1) % #requests + 1] end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT {"requests":%d,"seconds":%.3f,"p50Ms":%.3f,"p99Ms":%.3f,"failed":%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

/** A JSON string is a Lua string for the plain characters that tokens and paths are made of. */
const lua = (text: string) => JSON.stringify(text);
