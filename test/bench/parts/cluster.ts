// `cluster`: `me` through a gateway and services over NATS, against one process that holds them all. On the same core, so that
// requests per second are requests per CPU. Then what each kind of request costs each process, and `me` with more of each,
// whose shares of the core are equal.
import { freePort, type NatsServer, startNats } from "../../support/nats.ts";
import { eventually } from "../../support/service.ts";
import type { Request } from "../clients.ts";
import { addClinic, type Clinic } from "../clinic.ts";
import { cpuMsOf } from "../cpu.ts";
import { servicePaths } from "../home.ts";
import type { LoadResult } from "../load.ts";
import { cpuOf, inTurn, ratio, type Side } from "../measure.ts";
import type { StartedProgram } from "../program.ts";
import { judge, say, table, title } from "../report.ts";
import type { Scene, Stage } from "../stage.ts";
import { connections, getRequests, signInRequest, tokensOf, warmUp } from "../tenant-clients.ts";

const accountsServices = "auth,tenants,users";
const otherServices =
  "audit,backups,cache,crypto,health,mail,messenger,patients,payments,self-healing,webhooks";
const servicesReady = /(Records service is ready)/;
const replicasMax = 3;
const patients = 200;

/** A gateway and a process of accounts, as often as there are replicas; and one process with all the rest. */
interface Fleet {
  urls: readonly string[];
  gateways: readonly StartedProgram[];
  accounts: readonly StartedProgram[];
  others: StartedProgram;
  nats: NatsServer;
  messages(): Promise<number>;
}

interface Tenancy {
  scene: Scene;
  clinic: Clinic;
  tokens: readonly string[];
}

export async function cluster(stage: Stage): Promise<void> {
  title("cluster: me through gateways and services over NATS, against one process");
  const scene = await stage.scene("cluster");
  const clinic = await addClinic(scene, "cluster", stage.pick(patients, patients, 20));
  const tokens = await tokensOf(stage, scene.url, servicePaths.login, clinic.subdomain);
  await warmUp(stage, scene.url, [servicePaths.me], tokens);
  const tenancy = { scene, clinic, tokens };
  const started: StartedProgram[] = [];
  const monitorPort = await freePort();
  const nats = await startNats([], "127.0.0.1", monitorPort);
  const settings: Record<string, string> = { ...scene.settings, NATS_URL: nats.url };
  const start = async (env: Record<string, string>, name: string, readiness?: RegExp) => {
    const program = await stage.startService(env, `cluster-${name}.log`, false, readiness);
    started.push(program);
    return program;
  };
  const addReplica = async (fleet: Fleet): Promise<Fleet> => {
    const number = fleet.urls.length + 1;
    const services = { ...settings, SERVICES: accountsServices };
    const account = await start(services, `accounts-${number}`, servicesReady);
    const { DATABASE_URL: _database, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = settings;
    const gateway = await start({ ...bare, SERVICES: "api-gateway" }, `gateway-${number}`);
    const url = `http://127.0.0.1:${gateway.captured}`;
    await eventually(async () => (await fetch(`${url}/api/auth/tenants`)).ok);
    await warmUp(stage, url, [servicePaths.me], tokens);
    return {
      ...fleet,
      urls: [...fleet.urls, url],
      gateways: [...fleet.gateways, gateway],
      accounts: [...fleet.accounts, account],
    };
  };
  try {
    const others = await start({ ...settings, SERVICES: otherServices }, "others", servicesReady);
    const messages = () => messagesOf(monitorPort);
    let fleet: Fleet = { urls: [], gateways: [], accounts: [], others, nats, messages };
    for (let replicas = 1; replicas <= stage.pick(replicasMax, 2, 1); replicas++) {
      // Measured before the next is there: a process of accounts takes its part of the calls as soon as it is known.
      fleet = await addReplica(fleet);
      await compare(stage, tenancy, fleet);
      if (replicas === 1) await byHop(stage, tenancy, fleet);
    }
  } finally {
    for (const program of started.toReversed()) await program.stop();
    await nats.stop();
    await scene.service.stop();
  }
}

async function compare(stage: Stage, { scene, tokens }: Tenancy, fleet: Fleet): Promise<void> {
  const replicas = fleet.urls.length;
  const one = sideOf(stage, "one process", [scene.service.processId], [scene.url], tokens);
  const ids = [...idsOf(fleet.gateways), fleet.nats.processId(), ...idsOf(fleet.accounts)];
  const many = sideOf(stage, `${replicas} of each over NATS`, ids, fleet.urls, tokens);
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: stage.roundSeconds };
  const [alone = [], apart = []] = await inTurn([one, many], plan);
  table([
    [one.name, alone],
    [many.name, apart],
  ]);
  const perCpu = ratio(alone, apart, cpuOf);
  if (replicas === 1)
    judge({
      claim: "me through a gateway and services over NATS, requests per CPU against one process",
      measured: perCpu,
      sense: "at least",
      bound: 0.5,
      unit: "×",
    });
  else say(`requests per CPU against one process: ${perCpu.toFixed(2)} ×`);
}

/** What each kind of request costs each process, for docs/scale.md. */
async function byHop(stage: Stage, tenancy: Tenancy, fleet: Fleet): Promise<void> {
  const [url = ""] = fleet.urls;
  const hops = {
    gateway: idsOf(fleet.gateways),
    NATS: [fleet.nats.processId()],
    accounts: idsOf(fleet.accounts),
    "other services": [fleet.others.processId],
    PostgreSQL: [stage.postgresId],
  };
  const msOf = () => Object.values(hops).map((ids) => ids.reduce((sum, id) => sum + cpuMsOf(id), 0));
  const amount = stage.pick(2_000, 400, 16);
  for (const [kind, requests] of Object.entries(requestsOf(tenancy))) {
    const all = Array.from({ length: amount }, (_, n) => requests(n));
    const [before, messagesBefore] = [msOf(), await fleet.messages()];
    const { failed } = await stage.load.clients({ kind: "each", url, requests: all, connections }).result;
    if (failed > 0) throw new Error(`${kind}: ${failed} of ${amount} requests failed`);
    const [after, messages] = [msOf(), (await fleet.messages()) - messagesBefore];
    const each = Object.keys(hops).map(
      (hop, at) => `${hop} ${(((after[at] ?? 0) - (before[at] ?? 0)) / amount).toFixed(2)}`,
    );
    say(`${kind}, ms of CPU: ${each.join(", ")}; ${(messages / amount).toFixed(1)} messages`);
  }
}

function requestsOf({ clinic, tokens }: Tenancy): Record<string, (n: number) => Request> {
  const patientId = (n: number) => clinic.patientIds[n % clinic.patientIds.length];
  const one = (path: string, n: number): Request => {
    const [request] = getRequests(path, [tokens[n % tokens.length] ?? ""]);
    if (request === undefined) throw new Error("no token");
    return request;
  };
  return {
    me: (n) => one(servicePaths.me, n),
    "50 users": (n) => one(servicePaths.list, n),
    "a patient": (n) => one(`/api/patients/${patientId(n)}`, n),
    "a note is written": (n) => {
      const { headers } = one("", n);
      const path = `/api/patients/${patientId(n)}/records`;
      const body = JSON.stringify({ kind: "note", body: `note ${n}` });
      return { method: "POST", path, headers: { ...headers, "content-type": "application/json" }, body };
    },
    "a sign-in": (n) => signInRequest(servicePaths.login, clinic.subdomain, 200 + (n % 500)),
  };
}

const idsOf = (programs: readonly StartedProgram[]) => programs.map(({ processId }) => processId);

/** Messages that NATS has taken in since its start: a call and its answer are two. */
async function messagesOf(monitorPort: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${monitorPort}/varz`);
  return ((await answer.json()) as { in_msgs: number }).in_msgs;
}

function sideOf(
  stage: Stage,
  name: string,
  [processId = 0, ...besides]: readonly number[],
  urls: readonly string[],
  tokens: readonly string[],
): Side {
  const requests = getRequests(servicePaths.me, tokens);
  const load = async (seconds: number): Promise<LoadResult> => {
    const each = { requests, connections: Math.ceil(connections / urls.length), seconds };
    return together(await Promise.all(urls.map((url) => stage.load.run({ ...each, url }))));
  };
  return { name, processId, besides, load };
}

/** Of loads that ran at the same time: the requests of all, and the slowest of their percentiles. */
function together(results: readonly LoadResult[]): LoadResult {
  const sum = (of: (result: LoadResult) => number) => results.reduce((total, each) => total + of(each), 0);
  const max = (of: (result: LoadResult) => number) => Math.max(...results.map(of));
  return {
    requests: sum(({ requests }) => requests),
    seconds: max(({ seconds }) => seconds),
    p50Ms: max(({ p50Ms }) => p50Ms),
    p99Ms: max(({ p99Ms }) => p99Ms),
    failed: sum(({ failed }) => failed),
  };
}
