// Keep-alive connections, reused for the same name at the same checked address. Node's agents keep them by address, port and TLS
// name. A name that moves to another address gets a new connection, after a new check.
import * as http from "node:http";
import * as https from "node:https";
import type { Duplex } from "node:stream";

const idleMs = 4_000;
const idlePerPlaceMax = 10;
const idleMax = 200;

/** The part of both agents that is used here. */
type Agent = http.Agent | https.Agent;

/** Two agents, for http and https: idle connections are closed after 4 s; at most 10 per address and 200 in total are kept. */
export class Connections {
  readonly #plain: http.Agent;
  readonly #tls: https.Agent;

  /** @param ca certificates of authorities that are trusted instead of the usual ones, for tests */
  constructor(ca?: string) {
    const options = { keepAlive: true, maxFreeSockets: idlePerPlaceMax, timeout: idleMs };
    this.#plain = bounded(new http.Agent(options), () => this.#idle);
    this.#tls = bounded(
      new https.Agent({ ...options, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }),
      () => this.#idle,
    );
  }

  agentFor({ tls }: { tls: boolean }): Agent {
    return tls ? this.#tls : this.#plain;
  }

  get #idle(): number {
    return idleOf(this.#plain) + idleOf(this.#tls);
  }

  close(): void {
    this.#plain.destroy();
    this.#tls.destroy();
  }
}

function idleOf(agent: Agent): number {
  return Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
}

/** Decides whether a connection that has become idle is kept. */
interface Keeping {
  keepSocketAlive(socket: Duplex): boolean;
}

function bounded<A extends Agent>(agent: A, idle: () => number): A {
  // A documented method of both agents that is missing in Node's types.
  const keeping = agent as unknown as Keeping;
  const keep = keeping.keepSocketAlive.bind(agent);
  keeping.keepSocketAlive = (socket) => idle() < idleMax && keep(socket);
  return agent;
}
