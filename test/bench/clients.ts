// A child process: HTTP clients for what the general load generators cannot do. "each" sends every request once, a
// fixed number at a time, and ends when all were answered; "paced" sends at a steady rate whatever the answers do, so
// that a slow answer cannot hide the wait of the next; "loop" goes round until it is told to finish.
import { Agent, request as send } from "node:http";
import { onFinish, readJob } from "./task.ts";
import { percentile } from "./statistics.ts";

export interface Request {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export type ClientsJob = { url: string; requests: readonly Request[]; connections: number } & (
  | { kind: "each" }
  | { kind: "paced"; perSecond: number; seconds: number }
  | { kind: "loop" }
);

export interface ClientsResult {
  answered: number;
  failed: number;
  seconds: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  /** Of the last answer: tokens of sign-ins are read from here. */
  bodies: string[];
}

const bodiesMax = 100;
const job = await readJob<ClientsJob>();
const agent = new Agent({ keepAlive: true, maxSockets: job.connections });
const latenciesMs: number[] = [];
const bodies: string[] = [];
let failed = 0;
let finishing = false;
onFinish(() => {
  finishing = true;
});

function sendOne({ method, path, headers, body }: Request): Promise<void> {
  const sentAt = performance.now();
  return new Promise((resolve) => {
    const settle = (ok: boolean) => {
      latenciesMs.push(performance.now() - sentAt);
      if (!ok) failed++;
      resolve();
    };
    const outgoing = send(`${job.url}${path}`, { method, headers, agent }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      answer.on("end", () => {
        if (bodies.length < bodiesMax && job.kind === "each") bodies.push(text);
        settle(answer.statusCode !== undefined && answer.statusCode < 300);
      });
    });
    outgoing.once("error", () => settle(false));
    outgoing.end(body);
  });
}

async function inTurn(next: () => Request | undefined): Promise<void> {
  for (let request = next(); request !== undefined; request = next()) await sendOne(request);
}

async function paced(perSecond: number, seconds: number): Promise<void> {
  const startedAt = performance.now();
  const all: Promise<void>[] = [];
  const countMax = Math.round(perSecond * seconds);
  await new Promise<void>((resolve) => {
    const clock = setInterval(() => {
      const due = Math.min(countMax, Math.floor(((performance.now() - startedAt) / 1000) * perSecond));
      while (all.length < due) all.push(sendOne(requestAt(all.length)));
      if (all.length < countMax && !finishing) return;
      clearInterval(clock);
      resolve();
    }, 1);
  });
  await Promise.all(all);
}

function requestAt(index: number): Request {
  const request = job.requests[index % job.requests.length];
  if (request === undefined) throw new Error("no requests were given");
  return request;
}

const startedAt = performance.now();
let sent = 0;
if (job.kind === "paced") await paced(job.perSecond, job.seconds);
else {
  const limit = job.kind === "each" ? job.requests.length : Number.POSITIVE_INFINITY;
  const next = () => (sent < limit && !finishing ? requestAt(sent++) : undefined);
  await Promise.all(Array.from({ length: job.connections }, () => inTurn(next)));
}
const result: ClientsResult = {
  answered: latenciesMs.length,
  failed,
  seconds: (performance.now() - startedAt) / 1000,
  p50Ms: percentile(latenciesMs, 50),
  p95Ms: percentile(latenciesMs, 95),
  p99Ms: percentile(latenciesMs, 99),
  bodies,
};
process.stdout.write(JSON.stringify(result));
agent.destroy();
