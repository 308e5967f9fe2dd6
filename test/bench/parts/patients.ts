// `patients`: a page of 50 patients, four fields in two sealed texts each, against the same page from the service without
// any cryptography (unsealed-hook.ts), whose rows hold the same texts in clear.
import { addClinic, type Clinic } from "../clinic.ts";
import { servicePaths } from "../home.ts";
import { cpuOf, inTurn, ratio, type Side } from "../measure.ts";
import { judge, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { getting, tokensOf, warmUp } from "../tenant-clients.ts";

const path = "/api/patients?page=1&limit=50";
const hook = new URL("../unsealed-hook.ts", import.meta.url).href;

export async function patients(stage: Stage): Promise<void> {
  title(
    "patients: 50 of 2 000 patients with the exact total, four fields in two sealed texts each, sealed and not",
  );
  const scene = await stage.scene("patients");
  const patientsEach = stage.pick(2_000, 2_000, 60);
  const sealed = await addClinic(scene, "sealed", patientsEach);
  const clear = await addClinic(scene, "clear", patientsEach, { inClear: true });
  const bare = await stage.startService(
    { ...scene.settings, NODE_OPTIONS: `--import=${hook}` },
    "patients-unsealed.log",
  );
  const sides = [
    await sideOf(stage, "sealed", scene.url, scene.service.processId, sealed),
    await sideOf(stage, "unsealed", `http://127.0.0.1:${bare.captured}`, bare.processId, clear),
  ];
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: stage.roundSeconds };
  const [withSeal = [], without = []] = await inTurn(sides, plan);
  table([
    ["sealed", withSeal],
    ["without cryptography", without],
  ]);
  judge({
    claim: "list of 50 patients, CPU per request against the same list unsealed",
    measured: ratio(withSeal, without, cpuOf),
    sense: "at most",
    bound: 1.5,
    unit: "×",
  });
  await bare.stop();
  await scene.service.stop();
}

async function sideOf(
  stage: Stage,
  name: string,
  url: string,
  processId: number,
  clinic: Clinic,
): Promise<Side> {
  const tokens = await tokensOf(stage, url, servicePaths.login, clinic.subdomain);
  await assertReadable(`${url}${path}`, tokens[0] ?? "");
  await warmUp(stage, url, [path], tokens);
  return { name, processId, load: getting(stage, url, path, tokens) };
}

async function assertReadable(url: string, token: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const { items } = (await answer.json()) as { items: { full_name: string | null }[] };
  if (items.length !== 50 || !items.every(({ full_name: name }) => name?.startsWith("Person ")))
    throw new Error("the list does not read what was filled in");
}
