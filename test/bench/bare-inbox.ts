// The near-limit of taking notifications in: node:http and pg, one INSERT per request in a transaction of its own, and
// the answer. No signature, no payment, no audit, no event, no log, no row-level security.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });
await pool.query(
  "create table bare_inbox (id text primary key, body text not null, received_at timestamptz not null default now())",
);
const answer = '{"received":true,"duplicate":false}';

async function take(body: string): Promise<void> {
  const { id }: { id: string } = JSON.parse(body);
  const text = "insert into bare_inbox (id, body) values ($1, $2) on conflict do nothing";
  await pool.query({ name: "take", text, values: [id, body] });
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    take(Buffer.concat(chunks).toString()).then(
      () => response.writeHead(200, { "content-type": "application/json" }).end(answer),
      () => response.writeHead(500).end(),
    );
  });
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`bare http://127.0.0.1:${port}\n`);
});
process.on("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
  void pool.end().then(() => process.exit(0));
});
