// `cache`: one patient read over HTTP, remembered or not, in one process; and the same with the gateway in a process of
// its own, where the calls go over NATS. The side without memory is the same program with CACHE_ENTRIES_MAX=0.
import { addClinic, type Clinic } from "../clinic.ts";
import { servicePaths } from "../home.ts";
import { cpuOf, inTurn, ratio, type Sample, type Side } from "../measure.ts";
import { judge, say, table, title } from "../report.ts";
import type { StartedProgram } from "../program.ts";
import type { Scene, Stage } from "../stage.ts";
import { connections, tokensOf } from "../tenant-clients.ts";
import { program as natsServer, startNats } from "../../support/nats.ts";

const patientsRead = 200;
const forgetful = { CACHE_ENTRIES_MAX: "0" };
const allButGateway = "audit,auth,cache,crypto,health,mail,patients,tenants,users";
const busReady = /Records service is ready/;

export async function cache(stage: Stage): Promise<void> {
  title(`cache: one patient of ${patientsRead}, remembered and not, in one process`);
  const scene = await stage.scene("cache");
  const clinic = await addClinic(scene, "remembering", patientsRead);
  const other = await stage.startService({ ...scene.settings, ...forgetful }, "cache-none.log");
  const sides = [
    await sideOf(stage, clinic, "remembered", scene.url, [scene.service]),
    await sideOf(stage, clinic, "not remembered", urlOf(other), [other]),
  ];
  const [cached, uncached] = await compared(stage, sides);
  judge({
    claim: "a remembered patient, requests/s against one that is not",
    measured: ratio(cached, uncached, ({ perSecond }) => perSecond),
    sense: "at least",
    bound: 1.5,
    unit: "×",
  });
  await other.stop();
  await scene.service.stop();
  if (natsServer === undefined) say("No nats-server on PATH: the reading over the bus was left out.");
  else await overTheBus(stage, scene, clinic);
}

async function overTheBus(stage: Stage, { settings }: Scene, clinic: Clinic): Promise<void> {
  title("cache over the bus: gateway and services in two processes");
  // One each: on one they would be one cluster.
  const servers = [await startNats(), await startNats()] as const;
  try {
    const sides = [];
    const started: StartedProgram[] = [];
    for (const [name, more, nats] of [
      ["remembered", {}, servers[0]],
      ["not remembered", forgetful, servers[1]],
    ] as const) {
      const shared: Record<string, string> = {
        ...settings,
        ...more,
        NATS_URL: nats.url,
      };
      const services = await stage.startService(
        { ...shared, SERVICES: allButGateway },
        `bus-${name}.log`,
        false,
        busReady,
      );
      const { DATABASE_URL: _none, ...bare } = shared;
      const gateway = await stage.startService({ ...bare, SERVICES: "api-gateway" }, `gateway-${name}.log`);
      started.push(gateway, services);
      sides.push(await sideOf(stage, clinic, name, urlOf(gateway), [gateway, services]));
    }
    const [cached, uncached] = await compared(stage, sides);
    judge({
      claim: "a remembered patient over the bus, CPU per request against one that is not",
      measured: ratio(cached, uncached, cpuOf),
      sense: "at most",
      bound: 1,
      unit: "×",
    });
    for (const each of started) await each.stop();
  } finally {
    for (const nats of servers) await nats.stop();
  }
}

async function compared(stage: Stage, sides: Side[]): Promise<[cached: Sample[], uncached: Sample[]]> {
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: stage.roundSeconds };
  const [cached = [], uncached = []] = await inTurn(sides, plan);
  table([
    ["remembered", cached],
    ["not remembered", uncached],
  ]);
  return [cached, uncached];
}

/** @param programs the one that is asked, and those behind it */
async function sideOf(
  stage: Stage,
  { subdomain, patientIds }: Clinic,
  name: string,
  url: string,
  [asked, ...behind]: StartedProgram[],
): Promise<Side> {
  if (asked === undefined) throw new Error("no program");
  const tokens = await tokensOf(stage, url, servicePaths.login, subdomain);
  const requests = patientIds.map((id, index) => ({
    method: "GET" as const,
    path: `/api/patients/${id}`,
    headers: { authorization: `Bearer ${tokens[index % tokens.length] ?? ""}` },
  }));
  await stage.load.amount({ url, requests, connections }, stage.pick(6_000, 6_000, 64));
  return {
    name,
    processId: asked.processId,
    besides: behind.map(({ processId }) => processId),
    load: (seconds) => stage.load.run({ url, requests, connections, seconds }),
  };
}

const urlOf = ({ captured }: StartedProgram) => `http://127.0.0.1:${captured}`;
