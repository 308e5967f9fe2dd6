// Rotation: 100 000 patients with a record each sealed anew by the service at full pace, against a bare program that does
// the same with nothing around it; and the re-wrapping of 10 000 tenants' keys, which is what a rotation's caller waits for.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { BareRotationJob, BareRotationResult } from "../bare-rotation-child.ts";
import { createTenants } from "../fill.ts";
import { addPatients } from "../fill-patients.ts";
import { judge, say, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { childProgram, runTask } from "../task.ts";
import { TestKeyring } from "../../support/keyring.ts";
import { demoPassword } from "../../support/service.ts";

const patients = 100_000;
const tenantsOfRewrap = 10_000;
const roundsMax = 3;
const pollMs = 20;
const finishMsMax = 120_000;

interface Rotation {
  rows_total: number;
  rows_done: number;
  status: string;
}

export async function rotation(stage: Stage): Promise<void> {
  title("rotation: everything sealed anew, against a bare SELECT, re-encrypt, UPDATE … FROM unnest");
  const count = stage.quick ? patients / 10 : patients;
  const { owner, ownerUrl, settings, service: first } = await stage.scene("rotation");
  await first.stop();
  const full = { ...settings, ROTATION_PACE_PERCENT: "100", KEYS_HELD_SECONDS: "1" };
  const service = await stage.startService(full, "rotation-full.log");
  const url = `http://127.0.0.1:${service.captured}`;
  const token = await superadminAt(url);
  const [tenant] = await createTenants(owner, ["sealed"]);
  if (tenant === undefined) throw new Error("the tenant was not made");
  await addPatients(owner, settings.BOOT_SECRET ?? "", tenant.id, count);
  const ratios: number[] = [];
  for (let round = 0; round < Math.min(roundsMax, stage.rounds); round++) {
    const job: BareRotationJob = { url: ownerUrl, patients: count };
    const bare = await runTask<BareRotationResult>(childProgram("bare-rotation-child.ts"), job);
    const ours = await rotateOnce(url, token);
    await owner.query("vacuum patients");
    await owner.query("vacuum patient_records");
    const [mine, theirs] = [(count * 2) / ours.seconds, (bare.rows * 1000) / bare.ms];
    say(`sealed anew: ${Math.round(mine)} rows/s, bare ${Math.round(theirs)} rows/s`);
    ratios.push(mine / theirs);
  }
  const claim = `rotation of ${count} patients with records, rows/s against bare`;
  judge({ claim, measured: median(ratios), sense: "at least", bound: 0.7, unit: "×" });
  await rewrap(stage, url, token, owner, settings.BOOT_SECRET ?? "");
  await service.stop();
}

/** From the call until every row is sealed anew; then waits for the end, which is a matter of the keys' holders. */
async function rotateOnce(url: string, token: string): Promise<{ seconds: number; answeredMs: number }> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const startedAt = performance.now();
  const body = JSON.stringify({ new_key: randomBytes(32).toString("base64") });
  const started = await fetch(`${url}/api/admin/encryption/rotate`, { method: "POST", headers, body });
  if (started.status !== 200) throw new Error(`the rotation answered ${started.status}`);
  const answeredMs = performance.now() - startedAt;
  let seconds = 0;
  for (let now = startedAt; now - startedAt < finishMsMax; now = performance.now()) {
    const answer = await fetch(`${url}/api/admin/encryption/status`, { headers });
    const { rotation: state } = (await answer.json()) as { rotation: Rotation };
    if (seconds === 0 && state.rows_done >= state.rows_total)
      seconds = (performance.now() - startedAt) / 1000;
    if (state.status === "finished") return { seconds, answeredMs };
    await delay(pollMs);
  }
  throw new Error("the rotation did not finish");
}

async function rewrap(
  stage: Stage,
  url: string,
  token: string,
  owner: pg.Client,
  bootSecret: string,
): Promise<void> {
  const count = stage.quick ? tenantsOfRewrap / 10 : tenantsOfRewrap;
  const names = Array.from({ length: count }, (_, n) => `wrap-${n}`);
  const tenants = await createTenants(owner, names);
  const keyring = new TestKeyring(owner, bootSecret);
  for (const { id } of tenants) await keyring.of(id);
  const { answeredMs } = await rotateOnce(url, token);
  const claim = `re-wrapping the keys of ${count} tenants, until the answer`;
  judge({ claim, measured: answeredMs / 1000, sense: "at most", bound: 5, unit: "s" });
}

async function superadminAt(url: string): Promise<string> {
  const body = JSON.stringify({
    subdomain: "platform",
    email: "admin@platform.example",
    password: demoPassword,
  });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/api/auth/login`, { method: "POST", headers, body });
  return ((await answer.json()) as { access_token: string }).access_token;
}
