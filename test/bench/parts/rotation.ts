// Rotation: 100 000 patients with a record each sealed anew by the service at full pace, against a bare program that does
// the same with nothing around it; and the re-wrapping of 10 000 tenants' keys, which is what a rotation's caller waits for.
import type pg from "pg";
import type { BareRotationJob, BareRotationResult } from "../bare-rotation-child.ts";
import { addClinic } from "../clinic.ts";
import { createTenants } from "../fill.ts";
import { judge, say, title } from "../report.ts";
import { Rotator } from "../rotator.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { childProgram, runTask } from "../task.ts";
import { TestKeyring } from "../../support/keyring.ts";

const patients = 100_000;
const tenantsOfRewrap = 10_000;
const roundsMax = 3;

export async function rotation(stage: Stage): Promise<void> {
  title("rotation: everything sealed anew, against a bare SELECT, re-encrypt, UPDATE … FROM unnest");
  const count = stage.pick(patients, patients / 10, 200);
  const scene = await stage.scene("rotation");
  const { owner, ownerUrl, settings } = scene;
  await scene.service.stop();
  const full = { ...settings, ROTATION_PACE_PERCENT: "100", KEYS_HELD_SECONDS: "1" };
  const service = await stage.startService(full, "rotation-full.log");
  const rotator = await Rotator.at(`http://127.0.0.1:${service.captured}`);
  await addClinic(scene, "sealed", count);
  const ratios: number[] = [];
  for (let round = 0; round < Math.min(roundsMax, stage.rounds); round++) {
    const job: BareRotationJob = { url: ownerUrl, patients: count };
    const bare = await runTask<BareRotationResult>(childProgram("bare-rotation-child.ts"), job);
    const seconds = await rotateOnce(rotator);
    await owner.query("vacuum patients");
    await owner.query("vacuum patient_records");
    const [mine, theirs] = [(count * 2) / seconds, (bare.rows * 1000) / bare.ms];
    say(`sealed anew: ${Math.round(mine)} rows/s, bare ${Math.round(theirs)} rows/s`);
    ratios.push(mine / theirs);
  }
  const claim = `rotation of ${count} patients with records, rows/s against bare`;
  judge({ claim, measured: median(ratios), sense: "at least", bound: 0.7, unit: "×" });
  await rewrap(stage, rotator, owner, settings.BOOT_SECRET ?? "");
  await service.stop();
}

/** From the call until every row is sealed anew; then waits for the end. */
async function rotateOnce(rotator: Rotator): Promise<number> {
  const answeredMs = await rotator.start();
  return (answeredMs + (await rotator.finished())) / 1000;
}

async function rewrap(stage: Stage, rotator: Rotator, owner: pg.Client, bootSecret: string): Promise<void> {
  const count = stage.pick(tenantsOfRewrap, tenantsOfRewrap / 10, 10);
  const names = Array.from({ length: count }, (_, n) => `wrap-${n}`);
  const tenants = await createTenants(owner, names);
  const keyring = new TestKeyring(owner, bootSecret);
  for (const { id } of tenants) await keyring.of(id);
  const answeredMs = await rotator.start();
  const answeredAt = performance.now();
  await rotator.finished();
  const seconds = (performance.now() - answeredAt) / 1000;
  say(`from the answer until the old keys of all of them were gone: ${seconds.toFixed(1)} s`);
  const claim = `re-wrapping the keys of ${count} tenants, until the answer`;
  judge({ claim, measured: answeredMs / 1000, sense: "at most", bound: 5, unit: "s" });
}
