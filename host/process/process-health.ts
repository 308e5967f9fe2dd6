// /livez and /readyz on HEALTH_PORT, for whoever runs the process (Kubernetes, compose). Up before anything else, so
// that a start that takes long is seen as such; gone last.
// Ready: started with its first data, not stopping, and once PostgreSQL, the bus and what else its services need were there.
// What all processes share may go away after that: each would be taken out of service, and clients would be refused a
// connection where now they are told 503 with Retry-After at once. `checks` says what is down all the same.
// Alive: not to be cured by a restart. So a database or bus that is away never fails it; a bus that greets new
// connections while this process cannot reach itself through it for 15 s does.
// A node that was denied any of its subjects has left the bus (nats-transporter.ts), and is found by that.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { ServiceBroker } from "moleculer";
import { errorCode, StartError } from "../../services/shared/start-error.ts";
import { answersItself, anyGreets, busAnswers, PostgresProbe } from "./health-probes.ts";

const silentMsMax = 15_000;
/** Answers are shared for so long: however often it is asked, the process is probed at most twice a second. */
const freshMs = 500;

export interface HealthOptions {
  port: number;
  host: string;
  broker: ServiceBroker;
  natsUrls: readonly string[] | undefined;
  natsTlsFirst: boolean;
  /** undefined as long as the process has no database, or none yet. */
  databaseUrl: () => string | undefined;
  /** What its services need besides, and whether it is there. */
  needs: () => Record<string, boolean>;
}

export interface Verdict {
  ok: boolean;
  checks: Record<string, "ok" | "down">;
}

export class ProcessHealth {
  readonly #options: HealthOptions;
  readonly #livez = shared(() => this.#alive());
  readonly #readyz = shared(() => this.#ready());
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

  /** Started, and the other nodes were told. */
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
      !(await anyGreets(natsUrls, natsTlsFirst))
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

/** Everyone who asks while a look is under way, or shortly after, gets its result. */
function shared<T>(look: () => Promise<T>): () => Promise<T> {
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
