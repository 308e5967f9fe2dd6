// The service in several processes: NATS, one PostgreSQL, gateways that have no database, and processes of services.
import { type Kinds, startKinds } from "./logins.ts";
import { type NatsServer, startNats } from "./nats.ts";
import {
  addressOf,
  type Answer,
  callApi,
  type CallOptions,
  demoPassword,
  eventually,
  people,
  type RunningProcess,
  runProcess,
  startDemoDatabase,
  type TestDatabase,
  testSettings,
} from "./service.ts";

export const serviceFolders =
  "audit,auth,backups,cache,crypto,health,mail,messenger,patients,payments,self-healing,tenants,users,webhooks";

export interface Gateway {
  process: RunningProcess;
  url: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface Cluster {
  nats: NatsServer;
  database: TestDatabase;
  settings: Record<string, string>;
  /** All services but the gateway, in one process. */
  startServices(settings?: Record<string, string>): Promise<RunningProcess>;
  /** One process for each kind, each with a login of its own. */
  startApart(kinds: Kinds): Promise<RunningProcess[]>;
  /** A process with the gateway alone; answers once it knows the services. */
  startGateway(settings?: Record<string, string>): Promise<Gateway>;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const [nats, database] = await Promise.all([startNats(), startDemoDatabase()]);
  const settings: Record<string, string> = { ...testSettings(database), NATS_URL: nats.url };
  const started: RunningProcess[] = [];
  const run = (env: Record<string, string>): RunningProcess => {
    const running = runProcess(env);
    started.push(running);
    return running;
  };
  return {
    nats,
    database,
    settings,
    async startServices(more = {}) {
      const running = run({ ...settings, SERVICES: serviceFolders, ...more });
      await running.printed(/Records service is ready/);
      return running;
    },
    async startApart(kinds) {
      const { DATABASE_URL: _owners, ...env } = settings;
      const running = await startKinds(database, kinds, env);
      started.push(...running);
      return running;
    },
    async startGateway(more = {}) {
      // It faces the internet: it has what the bus needs, and nothing else.
      const { DATABASE_URL: _database, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = settings;
      const running = run({ ...bare, SERVICES: "api-gateway", ...more });
      const url = await addressOf(running);
      const call = (method: string, path: string, options?: CallOptions) =>
        callApi(url, method, path, options);
      await eventually(async () => (await call("GET", "/api/auth/tenants")).status === 200);
      return { process: running, url, call };
    },
    async stop() {
      await Promise.all(started.map((running) => running.stop()));
      await nats.stop();
      await database.stop();
    },
  };
}

export async function signInAt(gateway: Pick<Gateway, "call">, who: keyof typeof people): Promise<string> {
  const [email, subdomain] = people[who];
  const body = { email, password: demoPassword, subdomain };
  const answer = await gateway.call("POST", "/api/auth/login", { body });
  if (answer.status !== 200) throw new Error(`sign-in as ${who} answered ${answer.status}`);
  return answer.body.access_token;
}
