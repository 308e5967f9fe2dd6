// Who is connected. One address may have so many connections and no more; where there is no room, those that ask nothing
// make way, the longest idle first. Of one connection one request is answered at a time, and a client that does not take
// its answer is let go. So nobody keeps others out by holding what he does not use.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { addressKey } from "../shared/rate-limits.ts";
import { closeGently } from "./linger.ts";

export interface ConnectionBounds {
  connectionsMax: number;
  perAddressMax: number;
  /** Whose clients share its address: only the bound over all holds for a proxy. */
  isProxy: (address: string) => boolean;
}

/** Beyond this part of all connections, idle ones make way for new ones. */
const crowdedFrom = 0.9;
/** How many make way at once, of all connections and of one address: looking for them costs as much for one. */
const yieldingPart = 0.01;
/** After a look that found nobody idle. */
const lookAgainMs = 100;
/** Requests without a body that may wait behind another of their connection. */
const pipelinedMax = 32;
/** What is streamed makes so much progress within this time. */
export const answerMsMax = 60_000;
const progressBytesMin = 65_536;
/** What is written whole shows no progress: it has longer by its length, as a slow telephone would need. */
const slowestBytesPerMs = 25;

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

interface Connection {
  readonly socket: Socket;
  /** undefined: a proxy's. */
  readonly address: string | undefined;
  /** What is being answered; undefined while the connection is idle. */
  current: { request: IncomingMessage; response: ServerResponse } | undefined;
  idleSince: number;
  readonly waiting: { request: IncomingMessage; response: ServerResponse }[];
  /** How far the answer was taken when there was progress last. */
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

  /** @returns whether a connection that has just been opened may stay; if not, it is closed */
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
    // Called by Node after an answer that is a connection's last.
    socket.destroySoon = () => closeGently(socket);
    return true;
  }

  /** Answers a request when those before it on its connection have been answered. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#all.get(request.socket);
    if (connection === undefined || request.socket.writableEnded) return;
    if (connection.current === undefined) return this.#start(connection, { request, response });
    // A body would wait in memory. Nobody sends one behind a request that is unanswered but who means to fill it.
    if (hasBody(request) || connection.waiting.length >= pipelinedMax) this.#end(connection);
    else connection.waiting.push({ request, response });
  }

  /** Ends connections whose client does not take its answer; to be called every few seconds. */
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
    // Its place is free at once; the socket says so a little later.
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

  /** An address that has all it may have loses idle connections; one that needs them all gets no other. */
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

  /** @returns how many were ended: the longest idle, `countMax` at most */
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
