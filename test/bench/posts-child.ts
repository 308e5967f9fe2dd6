// A child process: a fixed number of signed card notifications, all different, over keep-alive connections, each
// connection with one request under way. The requests are made before the clock starts, and written to plain sockets,
// so that the load costs little beside what it measures.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { cardBody, cardSignature } from "../support/notifications.ts";
import type { LoadResult } from "./load.ts";
import { percentile } from "./statistics.ts";
import { readJob } from "./task.ts";

export interface PostsJob {
  url: string;
  path: string;
  /** Of all ids, so that no two jobs send the same notification. */
  prefix: string;
  tenant: string;
  count: number;
  connections: number;
}

const job = await readJob<PostsJob>();
const { hostname, port, host } = new URL(job.url);
const requests = Array.from({ length: job.count }, (_, n) => {
  const body = cardBody({
    id: `${job.prefix}-${n}`,
    paymentId: `pay-${job.prefix}-${n}`,
    tenant: job.tenant,
  });
  return Buffer.from(
    `POST ${job.path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
      `Provider-Signature: ${cardSignature(body)}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
});
const latenciesMs: number[] = [];
let failed = 0;
let next = 0;

/** @returns the length of the first whole answer in `text`, 0 while there is none */
function answerIn(text: string): number {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return 0;
  const length = /^content-length: (\d+)/im.exec(text)?.[1];
  if (length !== undefined) return text.length >= end + 4 + Number(length) ? end + 4 + Number(length) : 0;
  const last = text.indexOf("0\r\n\r\n", end + 4);
  return last < 0 ? 0 : last + 5;
}

async function client(socket: Socket): Promise<void> {
  let text = "";
  for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
    const sentAt = performance.now();
    socket.write(request);
    while (answerIn(text) === 0) text += String((await once(socket, "data"))[0]);
    if (!text.startsWith("HTTP/1.1 200 ")) failed++;
    text = text.slice(answerIn(text));
    latenciesMs.push(performance.now() - sentAt);
  }
  socket.end();
}

const sockets = await Promise.all(
  Array.from({ length: job.connections }, async () => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true).setEncoding("latin1");
    await once(socket, "connect");
    return socket;
  }),
);
const startedAt = performance.now();
await Promise.all(sockets.map(client));
const result: LoadResult = {
  requests: latenciesMs.length,
  seconds: (performance.now() - startedAt) / 1000,
  p50Ms: percentile(latenciesMs, 50),
  p99Ms: percentile(latenciesMs, 99),
  failed,
};
process.stdout.write(JSON.stringify(result));
