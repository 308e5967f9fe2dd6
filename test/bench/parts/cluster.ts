// `cluster`: `me` through a gateway and services over NATS, against one process that holds them all. On the same core, so that
// requests per second are requests per CPU. Then the same with more of each, whose shares of the core are equal.
import { type NatsServer, startNats } from "../../support/nats.ts";
import { eventually } from "../../support/service.ts";
import { cpuMsOf } from "../cpu.ts";
import { type Home, homeOf, servicePaths } from "../home.ts";
import type { LoadResult } from "../load.ts";
import { cpuOf, inTurn, ratio, type Side } from "../measure.ts";
import type { StartedProgram } from "../program.ts";
import { judge, say, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { connections, getRequests, warmUp } from "../tenant-clients.ts";

const accountsServices = "auth,tenants,users";
const otherServices =
  "audit,backups,cache,crypto,health,mail,messenger,patients,payments,self-healing,webhooks";
const servicesReady = /(Records service is ready)/;
const replicasMax = 3;

/** A gateway and a process of accounts, as often as there are replicas. */
interface Fleet {
  urls: readonly string[];
  gateways: readonly StartedProgram[];
  accounts: readonly StartedProgram[];
}

export async function cluster(stage: Stage): Promise<void> {
  title("cluster: me through gateways and services over NATS, against one process");
  const home = await homeOf(stage);
  const nats = await startNats();
  const started: StartedProgram[] = [];
  const settings: Record<string, string> = { ...home.settings, NATS_URL: nats.url };
  const start = async (env: Record<string, string>, name: string, readiness?: RegExp) => {
    const program = await stage.startService(env, `cluster-${name}.log`, false, readiness);
    started.push(program);
    return program;
  };
  const addReplica = async ({ urls, gateways, accounts }: Fleet): Promise<Fleet> => {
    const number = urls.length + 1;
    const services = { ...settings, SERVICES: accountsServices };
    const account = await start(services, `accounts-${number}`, servicesReady);
    const { DATABASE_URL: _database, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = settings;
    const gateway = await start({ ...bare, SERVICES: "api-gateway" }, `gateway-${number}`);
    const url = `http://127.0.0.1:${gateway.captured}`;
    await eventually(async () => (await fetch(`${url}/api/auth/tenants`)).ok);
    await warmUp(stage, url, [servicePaths.me], home.tokens);
    return { urls: [...urls, url], gateways: [...gateways, gateway], accounts: [...accounts, account] };
  };
  try {
    await start({ ...settings, SERVICES: otherServices }, "others", servicesReady);
    let fleet: Fleet = { urls: [], gateways: [], accounts: [] };
    for (let replicas = 1; replicas <= stage.pick(replicasMax, 2, 1); replicas++) {
      // Measured before the next is there: a process of accounts takes its part of the calls as soon as it is known.
      fleet = await addReplica(fleet);
      await compare(stage, home, fleet, nats);
    }
  } finally {
    for (const program of started.toReversed()) await program.stop();
    await nats.stop();
  }
}

async function compare(stage: Stage, home: Home, fleet: Fleet, nats: NatsServer): Promise<void> {
  const replicas = fleet.urls.length;
  const idsOf = (programs: readonly StartedProgram[]) => programs.map(({ processId }) => processId);
  const hops = {
    gateway: idsOf(fleet.gateways),
    NATS: [nats.processId()],
    accounts: idsOf(fleet.accounts),
    PostgreSQL: [stage.postgresId],
  };
  const { gateway, NATS, accounts } = hops;
  const one = sideOf(stage, "one process", [home.service.processId], [home.url], home.tokens);
  const name = `${replicas} of each over NATS`;
  const many = sideOf(stage, name, [...gateway, ...NATS, ...accounts], fleet.urls, home.tokens);
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: stage.roundSeconds };
  const [alone = [], apart = []] = await inTurn([one, many], plan);
  table([
    [one.name, alone],
    [many.name, apart],
  ]);
  const msOf = () => Object.values(hops).map((ids) => ids.reduce((sum, id) => sum + cpuMsOf(id), 0));
  const before = msOf();
  const { requests } = await many.load(plan.seconds);
  const after = msOf();
  const each = Object.keys(hops).map(
    (hop, at) => `${hop} ${(((after[at] ?? 0) - (before[at] ?? 0)) / requests).toFixed(3)}`,
  );
  say(`CPU ms per request by hop: ${each.join(", ")}`);
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
