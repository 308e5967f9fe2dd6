// What a rotation at its default pace does to others: patients read at a modest steady rate, alone and while every row is
// being sealed anew.
import type { ClientsJob } from "../clients.ts";
import { addClinic } from "../clinic.ts";
import { servicePaths } from "../home.ts";
import { judge, say, title } from "../report.ts";
import { Rotator } from "../rotator.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { tokensOf } from "../tenant-clients.ts";

const perSecond = 100;
const patientsRead = 500;

export async function rotationPace(stage: Stage): Promise<void> {
  title(`rotation at its default pace: patients read at ${perSecond}/s, alone and meanwhile`);
  const scene = await stage.scene("pace");
  const { url } = scene;
  const { subdomain, patientIds } = await addClinic(scene, "sealed", stage.pick(50_000, 50_000, 2_000));
  const rotator = await Rotator.at(url);
  const tokens = await tokensOf(stage, url, servicePaths.login, subdomain);
  const step = Math.ceil(patientIds.length / patientsRead);
  const requests = patientIds
    .filter((_, index) => index % step === 0)
    .map((id, index) => ({
      method: "GET" as const,
      path: `/api/patients/${id}`,
      headers: { authorization: `Bearer ${tokens[index % tokens.length] ?? ""}` },
    }));
  const seconds = stage.pick(6, 2, 0.5);
  const steady = { kind: "paced", url, requests, connections: 64, perSecond, seconds } as const;
  await stage.load.clients(steady).result;
  const idle = await p95sOf(stage, steady);
  await rotator.start();
  const before = await rotator.state();
  const busy = await p95sOf(stage, steady);
  const after = await rotator.state();
  if (after.rows_done >= after.rows_total) throw new Error("the rotation ended before the readings did");
  const sealed = (after.rows_done - before.rows_done) / (busy.length * seconds);
  say(`${Math.round(sealed)} rows/s sealed anew meanwhile`);
  say(`p95 alone ${median(idle).toFixed(2)} ms, meanwhile ${median(busy).toFixed(2)} ms`);
  judge({
    claim: "reading a patient, p95 while a rotation is under way against alone",
    measured: median(busy) / median(idle),
    sense: "at most",
    bound: 1.5,
    unit: "×",
  });
  // It would need minutes more; what is stopped here would go on at the next start.
  await scene.service.stop();
}

async function p95sOf(stage: Stage, steady: ClientsJob): Promise<number[]> {
  const found: number[] = [];
  for (let round = 0; round < stage.rounds; round++) {
    const { p95Ms, failed } = await stage.load.clients(steady).result;
    if (failed > 0) throw new Error("readings failed");
    found.push(p95Ms);
  }
  return found;
}
