// Probes of a process and its dependencies, each bounded to one second. No probe uses the pool of requests: a busy pool under
// load is no reason to take all replicas out of service at once.
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

/** A connection of its own to PostgreSQL, opened at the first probe and again after it broke. */
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
    // Not awaited: a graceful end waits for a server that may never answer.
    client?.end().catch(() => undefined);
  }
}

// Moleculer declares neither the transporter's client nor how a packet is sent to a certain node.
interface NatsTransit {
  tx: { client: { rtt(): Promise<number>; isClosed(): boolean } | null };
  pendingRequests: Map<string, unknown>;
  request(ctx: object): Promise<unknown>;
  removePendingRequest(id: string): void;
}

function transitOf(broker: ServiceBroker): NatsTransit | undefined {
  // Both types describe the same object.
  return (broker.transit ?? undefined) as unknown as NatsTransit | undefined;
}

/** Whether the NATS server answers on this connection. `transit.connected` stays true for ever once it was true. */
export async function busAnswers(broker: ServiceBroker): Promise<boolean> {
  const client = transitOf(broker)?.tx.client;
  return client != null && !client.isClosed() && inTime(client.rtt());
}

/**
 * Whether a request from this node to itself over the bus is answered. A denied subscription stops the client's reader for good,
 * while heartbeats are still sent; then this fails. The action does not exist: the error for that is the expected answer.
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

/** Whether at least one of the servers accepts a new connection. */
export async function anyServerGreets(urls: readonly string[], tlsFirst: boolean): Promise<boolean> {
  return (await Promise.all(urls.map((url) => greets(url, tlsFirst)))).includes(true);
}

/**
 * Whether a new connection to the address is accepted and greeted, as NATS does before any login.
 * @param tlsFirst whether the server waits for TLS and sends no greeting: then an accepted connection is enough
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
