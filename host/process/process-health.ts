// /livez and /readyz on HEALTH_PORT, for Kubernetes or compose. The server starts before everything else, so that a long start
// can be observed, and stops last.
// Ready: started with the first data, not stopping, and PostgreSQL, the bus and the other needs of the services were available
// once. Later outages of dependencies that all processes share do not change it: all processes would be taken out of service, and
// clients would get no connection instead of an immediate 503 with Retry-After. `checks` reports such an outage nevertheless.
// Alive: a restart would not help. So an unreachable database or bus never fails it. It fails if the bus accepts new connections
// while this process cannot reach itself through it for 15 s.
// A node that was denied one of its subjects leaves the bus (nats-transporter.ts), and is detected by that.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { ServiceBroker } from "moleculer";
import { errorCode, StartError } from "../../services/shared/start-error.ts";
import { answersItself, anyServerGreets, busAnswers, PostgresProbe } from "./health-probes.ts";

const silentMsMax = 15_000;
/** Results are shared for this time: the process is probed at most twice a second. */
const freshMs = 500;

export interface HealthOptions {
  port: number;
  host: string;
  broker: ServiceBroker;
  natsUrls: readonly string[] | undefined;
  natsTlsFirst: boolean;
  /** undefined while the process has no database. */
  databaseUrl: () => string | undefined;
  /** Further needs of its services, and whether they are available. */
  needs: () => Record<string, boolean>;
}

export interface Verdict {
  ok: boolean;
  checks: Record<string, "ok" | "down">;
}

/** The HTTP server of both probes. */
export class ProcessHealth {
  readonly #options: HealthOptions;
  readonly #livez = sharedResult(() => this.#alive());
  readonly #readyz = sharedResult(() => this.#ready());
  #postgres: PostgresProbe | undefined;
  #silentSince: number | undefined;
  #server: Server | undefined;
  #serving = false;
  #wasReady = false;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  /** @throws StartError when the port cannot be used */
  async listen(): Promise<void> {
    const { port, host } = this.#options;
    const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
      void this.#answer(request.url?.split("?")[0] ?? "", response);
    });
    server.maxConnections = 100;
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(new StartError(`HEALTH_PORT ${port} on ${host} cannot be used (${errorCode(error)}).`)),
      );
      server.listen(port, host, resolve);
    });
  }

  /** Called when the process has started and the other nodes were notified. */
  serving(): void {
    this.#serving = true;
  }

  close(): void {
    this.#postgres?.close();
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  async #answer(path: string, response: ServerResponse): Promise<void> {
    const look = path === "/livez" ? this.#livez : path === "/readyz" ? this.#readyz : undefined;
    const verdict = await look?.();
    response.writeHead(verdict === undefined ? 404 : verdict.ok ? 200 : 503, {
      "Content-Type": "application/json; charset=utf-8",
      "Cache-Control": "no-store",
    });
    response.end(JSON.stringify(verdict ?? { detail: "Not found", code: "not_found" }));
  }

  async #ready(): Promise<Verdict> {
    const { broker, natsUrls, databaseUrl, needs } = this.#options;
    const url = databaseUrl();
    if (url !== undefined) this.#postgres ??= new PostgresProbe(url);
    const [postgres, bus] = await Promise.all([
      this.#postgres?.answers(),
      natsUrls === undefined ? undefined : busAnswers(broker),
    ]);
    const isServing = this.#serving && broker.started;
    const verdict = verdictOf({ process: isServing, postgres, bus, ...(isServing ? needs() : {}) });
    if (verdict.ok) this.#wasReady = true;
    return { ...verdict, ok: verdict.ok || (isServing && this.#wasReady) };
  }

  async #alive(): Promise<Verdict> {
    const { broker, natsUrls, natsTlsFirst } = this.#options;
    if (
      natsUrls === undefined ||
      !broker.started ||
      (await answersItself(broker)) ||
      !(await anyServerGreets(natsUrls, natsTlsFirst))
    ) {
      this.#silentSince = undefined;
      return verdictOf({ process: true });
    }
    const now = performance.now();
    this.#silentSince ??= now;
    return verdictOf({ process: now - this.#silentSince < silentMsMax });
  }
}

function verdictOf(found: Record<string, boolean | undefined>): Verdict {
  const known = Object.entries(found).filter(([, ok]) => ok !== undefined);
  const checks = Object.fromEntries(known.map(([name, ok]) => [name, ok === true ? "ok" : "down"] as const));
  return { ok: known.every(([, ok]) => ok), checks };
}

/** Concurrent and soon following callers share one result. */
function sharedResult<T>(look: () => Promise<T>): () => Promise<T> {
  let recent: { result: Promise<T>; until: number } | undefined;
  return () => {
    if (recent !== undefined && performance.now() < recent.until) return recent.result;
    const result = look();
    const made = { result, until: Number.POSITIVE_INFINITY };
    recent = made;
    const settle = () => {
      made.until = performance.now() + freshMs;
    };
    result.then(settle, settle);
    return result;
  };
}
