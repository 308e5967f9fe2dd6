// The open connections. Each address has a maximum. When there is no room, idle connections are closed, the longest idle
// first. On one connection one request is answered at a time, and a client that does not read its answer is
// disconnected. So a client cannot keep others out with connections that it does not use.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { addressKey } from "../shared/rate-limits.ts";
import { closeGently } from "./linger.ts";

export interface ConnectionBounds {
  connectionsMax: number;
  perAddressMax: number;
  /** A proxy's clients share its address, so only the bound over all connections applies to a proxy. */
  isProxy: (address: string) => boolean;
}

/** From this share of all connections on, idle ones are closed for new ones. */
const crowdedFrom = 0.9;
/** Connections closed at a time, of all and of one address: the search costs the same for one of them. */
const yieldingPart = 0.01;
/** Pause after a search that found no idle connection. */
const lookAgainMs = 100;
/** Requests without a body that may wait behind another request of their connection. */
const pipelinedMax = 32;
/** A streamed answer must make progress within this time. */
export const answerMsMax = 60_000;
const progressBytesMin = 65_536;
/** An answer that is written at once shows no progress. It has more time in proportion to its length, enough for a slow mobile network. */
const slowestBytesPerMs = 25;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

interface Connection {
  readonly socket: Socket;
  /** undefined for a proxy */
  readonly address: string | undefined;
  /** The response being sent; undefined while the connection is idle. */
  current: { request: IncomingMessage; response: ServerResponse } | undefined;
  idleSince: number;
  readonly waiting: { request: IncomingMessage; response: ServerResponse }[];
  /** Bytes of the answer that the client had read at the last progress. */
  progress: { response: ServerResponse; bytes: number; at: number } | undefined;
}

export class Connections {
  readonly #bounds: ConnectionBounds;
  readonly #handle: Handle;
  readonly #all = new Map<Socket, Connection>();
  readonly #ofAddress = new Map<string, Set<Connection>>();
  #nobodyIdleAt = Number.NEGATIVE_INFINITY;

  constructor(bounds: ConnectionBounds, handle: Handle) {
    this.#bounds = bounds;
    this.#handle = handle;
  }

  get size(): number {
    return this.#all.size;
  }

  /** @returns whether a new connection may stay; if not, it is closed */
  admit(socket: Socket): boolean {
    const { remoteAddress } = socket;
    const address = remoteAddress === undefined ? undefined : this.#addressOf(remoteAddress);
    if (remoteAddress === undefined || (address !== undefined && !this.#hasRoomFor(address))) {
      socket.destroy();
      return false;
    }
    this.#makeRoom();
    const connection: Connection = {
      socket,
      address,
      current: undefined,
      idleSince: performance.now(),
      waiting: [],
      progress: undefined,
    };
    this.#all.set(socket, connection);
    if (address !== undefined) this.#neighbours(address).add(connection);
    socket.once("close", () => this.#forget(connection));
    // Node calls it after the last answer of a connection.
    socket.destroySoon = () => closeGently(socket);
    return true;
  }

  /** Answers a request after the earlier requests of its connection. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#all.get(request.socket);
    if (connection === undefined || request.socket.writableEnded) return;
    if (connection.current === undefined) return this.#start(connection, { request, response });
    // A body would wait in memory. Only a client that wants to fill the memory sends one behind an unanswered request.
    if (hasBody(request) || connection.waiting.length >= pipelinedMax) this.#end(connection);
    else connection.waiting.push({ request, response });
  }

  /** Ends connections whose client does not read its answer. Called every few seconds. */
  endStalled(now = performance.now()): void {
    for (const connection of this.#all.values()) {
      const { socket, current, progress } = connection;
      if (current === undefined || !current.response.headersSent) continue;
      const bytes = socket.bytesWritten - socket.writableLength;
      if (progress?.response !== current.response || bytes - progress.bytes >= progressBytesMin) {
        connection.progress = { response: current.response, bytes, at: now };
      } else if (now - progress.at > answerMsMax + socket.writableLength / slowestBytesPerMs) {
        this.#end(connection);
      }
    }
  }

  #start(connection: Connection, next: { request: IncomingMessage; response: ServerResponse }): void {
    connection.current = next;
    next.response.once("close", () => {
      connection.current = undefined;
      connection.idleSince = performance.now();
      const { socket, waiting } = connection;
      const following = waiting.shift();
      if (following !== undefined && !socket.destroyed && !socket.writableEnded)
        this.#start(connection, following);
    });
    this.#handle(next.request, next.response);
  }

  #end(connection: Connection): void {
    connection.socket.destroy();
    // Its slot is free at once; the socket reports its end a little later.
    this.#forget(connection);
  }

  #forget(connection: Connection): void {
    const { socket, address, waiting } = connection;
    waiting.length = 0;
    this.#all.delete(socket);
    if (address === undefined) return;
    const neighbours = this.#ofAddress.get(address);
    neighbours?.delete(connection);
    if (neighbours?.size === 0) this.#ofAddress.delete(address);
  }

  /** @returns undefined for a proxy */
  #addressOf(remoteAddress: string): string | undefined {
    return this.#bounds.isProxy(remoteAddress) ? undefined : addressKey(remoteAddress);
  }

  #neighbours(address: string): Set<Connection> {
    const known = this.#ofAddress.get(address) ?? new Set();
    this.#ofAddress.set(address, known);
    return known;
  }

  /** An address at its maximum loses idle connections. If all of them are in use, its new connection is refused. */
  #hasRoomFor(address: string): boolean {
    const { perAddressMax } = this.#bounds;
    const neighbours = this.#ofAddress.get(address);
    if (neighbours === undefined || neighbours.size < perAddressMax) return true;
    return this.#endIdle(neighbours, Math.ceil(perAddressMax * yieldingPart)) > 0;
  }

  #makeRoom(): void {
    const { connectionsMax } = this.#bounds;
    if (this.#all.size < connectionsMax * crowdedFrom) return;
    const now = performance.now();
    if (now - this.#nobodyIdleAt < lookAgainMs) return;
    if (this.#endIdle(this.#all.values(), Math.ceil(connectionsMax * yieldingPart)) === 0)
      this.#nobodyIdleAt = now;
  }

  /** Ends the connections that were idle longest. @returns how many, at most `countMax` */
  #endIdle(connections: Iterable<Connection>, countMax: number): number {
    const idle = Array.from(connections).filter(({ current }) => current === undefined);
    const ended = idle.sort((a, b) => a.idleSince - b.idleSince).slice(0, countMax);
    for (const connection of ended) this.#end(connection);
    return ended.length;
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
