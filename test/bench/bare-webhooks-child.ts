// A child process, the bare program of the webhooks: a loop of signed POSTs at a fixed concurrency that records nothing.
import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { readJob } from "./task.ts";

export interface BareWebhooksJob {
  port: number;
  posts: number;
  endpoints: number;
  concurrency: number;
}
export interface BareWebhooksResult {
  posts: number;
  ms: number;
}

const { port, posts, endpoints, concurrency } = await readJob<BareWebhooksJob>();
const agent = new Agent({ keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency });
const secret = createSecretKey(randomBytes(32));
let sent = 0;

function post(number: number): Promise<void> {
  const id = `msg_${randomBytes(16).toString("hex")}`;
  const timestamp = Math.floor(Date.now() / 1000);
  const body = JSON.stringify({
    type: "department.created",
    timestamp: new Date().toISOString(),
    data: { department_id: number },
  });
  const signature = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    };
    const path = `/${number % endpoints}`;
    const sending = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
      response.resume().once("end", resolve);
    });
    sending.once("error", reject).end(body);
  });
}

async function client(): Promise<void> {
  while (sent < posts) await post(sent++);
}

// Warm, as a service that has run for a while is.
sent = posts - Math.min(posts, 2_000);
await Promise.all(Array.from({ length: concurrency }, client));
sent = 0;
const startedAt = performance.now();
await Promise.all(Array.from({ length: concurrency }, client));
const result: BareWebhooksResult = { posts, ms: performance.now() - startedAt };
process.stdout.write(JSON.stringify(result));
process.exit(0);
