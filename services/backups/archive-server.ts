// The internal server from which gateways fetch archives, in each process that runs the backups. It accepts
// only tickets: random, valid for one request within seconds, each for one object of the store. It sends the
// object as stored, encrypted, so an eavesdropper learns only its length.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { pipeline } from "node:stream/promises";
import { Unavailable } from "../shared/errors.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Store } from "../../mixins/store/store.ts";

const ticketMs = 30_000;
const ticketsMax = 1_000;
const streamsMax = 16;
/** Bound per tenant: a slow client must not prevent the downloads of others. */
const streamsPerTenantMax = 4;
/** Timeout of a connection without progress, for a client that stopped reading. */
const idleMsMax = 60_000;
const drainMsMax = 10_000;

interface Ticket {
  object: string;
  release: () => void;
  until: number;
}

/** At most `streamsMax` downloads at a time. */
export class ArchiveServer {
  readonly #store: Store;
  readonly #runtime: Runtime;
  readonly #server: Server;
  /** A Map, as beyond the bound a new one is refused: none that was handed out may be evicted. */
  readonly #tickets = new Map<string, Ticket>();
  #streams = 0;
  /** Open tickets and running downloads, by the tenant of the caller. */
  readonly #ofTenant = new Map<number | undefined, number>();
  #port = 0;

  constructor(runtime: Runtime, store: Store) {
    this.#runtime = runtime;
    this.#store = store;
    this.#server = createServer(
      { headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 4_096 },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.setTimeout(idleMsMax, (socket) => socket.destroy());
    this.#server.maxConnections = 4 * streamsMax;
  }

  /** Starts listening; on the loopback interface when there is no bus. */
  async listen(): Promise<void> {
    const { backupStreamPort, natsUrls } = this.#runtime.config;
    // Without a bus, only this process's own gateway connects.
    const host = natsUrls === undefined ? "127.0.0.1" : undefined;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(backupStreamPort, host, resolve);
    });
    const address = this.#server.address();
    this.#port = typeof address === "object" && address !== null ? address.port : backupStreamPort;
  }

  /**
   * Issues a ticket.
   * @param tenantId the caller's tenant; undefined for a caller without one
   * @returns the address from which the object can be fetched once, within `ticketMs`
   * @throws Unavailable `busy` when there are too many downloads or tickets
   */
  offer(object: string, tenantId: number | undefined): string {
    const now = performance.now();
    for (const [ticket, { until }] of this.#tickets) if (until < now) this.#take(ticket)?.release();
    const own = this.#ofTenant.get(tenantId) ?? 0;
    if (
      this.#tickets.size >= ticketsMax ||
      this.#streams >= streamsMax ||
      (tenantId !== undefined && own >= streamsPerTenantMax)
    )
      throw new Unavailable("busy", "Too many downloads at the moment", 10);
    const ticket = randomBytes(32).toString("base64url");
    this.#ofTenant.set(tenantId, own + 1);
    const release = () => {
      const left = (this.#ofTenant.get(tenantId) ?? 0) - 1;
      if (left > 0) this.#ofTenant.set(tenantId, left);
      else this.#ofTenant.delete(tenantId);
    };
    this.#tickets.set(ticket, { object, until: now + ticketMs, release });
    return `http://${this.#host()}:${this.#port}/${ticket}`;
  }

  /** Withdraws a ticket that was not sent to anybody. */
  withdraw(address: string): void {
    this.#take(address.slice(address.lastIndexOf("/") + 1))?.release();
  }

  #take(ticket: string): Ticket | undefined {
    const found = this.#tickets.get(ticket);
    this.#tickets.delete(ticket);
    return found;
  }

  /** Waits for running downloads, at most `drainMsMax`. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const late = setTimeout(() => this.#server.closeAllConnections(), drainMsMax);
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
    });
    clearTimeout(late);
  }

  #host(): string {
    const { backupStreamHost, natsUrls } = this.#runtime.config;
    if (backupStreamHost !== undefined) return inUrl(backupStreamHost);
    if (natsUrls === undefined) return "127.0.0.1";
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const outer = addresses.filter(({ internal }) => !internal);
    const own = outer.find(({ family }) => family === "IPv4") ?? outer.find(({ scopeid }) => !scopeid);
    if (own === undefined) return "127.0.0.1";
    return inUrl(own.address);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ticket = request.url?.slice(1) ?? "";
    const found = this.#take(ticket);
    if (found === undefined || request.method !== "GET" || found.until < performance.now()) {
      found?.release();
      response.writeHead(404).end();
      return;
    }
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    this.#streams++;
    try {
      const body = await this.#store.get(found.object, gone.signal);
      await pipeline(body, response);
    } catch (error) {
      // The receiver closed the connection or the store failed. A truncated archive does not open at the
      // receiver.
      if (!gone.signal.aborted) this.#runtime.log.warn({ err: error }, "an archive could not be sent");
      if (response.headersSent) response.destroy();
      else response.writeHead(503).end();
    } finally {
      this.#streams--;
      found.release();
    }
  }
}

/** An IPv6 address is in brackets in a URL. A pod may have one. */
const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);
