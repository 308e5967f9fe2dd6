// What a process can find out about itself and what it leans on, each within a second. No probe uses the pool that
// requests use: under load a busy pool is no reason to take every replica out of service at once.
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ServiceBroker } from "moleculer";
import pg from "pg";

const probeMsMax = 1_000;

/** Whether `work` succeeded within a second. */
export async function inTime(work: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const late = delay(probeMsMax, false, { signal: timer.signal }).catch(() => false);
  const succeeded = work.then(
    () => true,
    () => false,
  );
  const result = await Promise.race([succeeded, late]);
  timer.abort();
  return result;
}

/** One connection of its own to PostgreSQL, opened when first asked and again after it broke. */
export class PostgresProbe {
  readonly #url: string;
  #client: pg.Client | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async answers(): Promise<boolean> {
    const ok = await inTime(this.#ask());
    if (!ok) this.close();
    return ok;
  }

  async #ask(): Promise<void> {
    if (this.#client === undefined) {
      const client = new pg.Client({
        connectionString: this.#url,
        connectionTimeoutMillis: probeMsMax,
        application_name: "records-health",
      });
      this.#client = client;
      client.on("error", () => this.close());
      await client.connect();
    }
    await this.#client.query("select 1");
  }

  close(): void {
    const client = this.#client;
    this.#client = undefined;
    // Not awaited: ending politely waits for a server that may never answer.
    client?.end().catch(() => undefined);
  }
}

// Moleculer declares neither the transporter's client nor how a packet is sent to a chosen node.
interface NatsTransit {
  tx: { client: { rtt(): Promise<number>; isClosed(): boolean } | null };
  pendingRequests: Map<string, unknown>;
  request(ctx: object): Promise<unknown>;
  removePendingRequest(id: string): void;
}

function transitOf(broker: ServiceBroker): NatsTransit | undefined {
  // The declared part and ours describe one object.
  return (broker.transit ?? undefined) as unknown as NatsTransit | undefined;
}

/** The NATS server answers this connection. `transit.connected` says so for ever once it was true. */
export async function busAnswers(broker: ServiceBroker): Promise<boolean> {
  const client = transitOf(broker)?.tx.client;
  return client != null && !client.isClosed() && inTime(client.rtt());
}

/**
 * A request from this node to itself by way of the bus is answered. One denied subscription stops the client's reader
 * for good while heartbeats still go out; then this fails. The action does not exist: being told so is the answer.
 */
export async function answersItself(broker: ServiceBroker): Promise<boolean> {
  const transit = transitOf(broker);
  if (transit === undefined) return true;
  const id = broker.generateUid();
  const ctx = Object.assign(new broker.ContextFactory(broker), {
    id,
    nodeID: broker.nodeID,
    action: { name: "livez.probe" },
  });
  const answered = transit.request(ctx).catch((error: unknown) => {
    if (!(error instanceof Error) || error.name !== "ServiceNotFoundError") throw error;
  });
  const ok = await inTime(answered);
  transit.removePendingRequest(id);
  return ok;
}

/** One of the servers takes a new connection. */
export async function anyGreets(urls: readonly string[], tlsFirst: boolean): Promise<boolean> {
  return (await Promise.all(urls.map((url) => greets(url, tlsFirst)))).includes(true);
}

/**
 * A new connection to the address is taken and greeted, as NATS does before any login.
 * @param tlsFirst whether the server waits for TLS and greets nobody: then that it takes the connection is enough
 */
function greets(url: string, tlsFirst: boolean): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || "4222") });
    const end = (greeted: boolean) => {
      socket.destroy();
      resolve(greeted);
    };
    socket.setTimeout(probeMsMax, () => end(false));
    socket.once(tlsFirst ? "connect" : "data", () => end(true));
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
  });
}
