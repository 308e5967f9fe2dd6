// A key rotation whose process is killed a hundred times, at moments that chance chooses, while patients are read and
// written: no value may become unreadable or old, no reader may be told anything wrong, and it must finish.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { callApi, eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeUser } from "../../support/tenancy.ts";
import { type Killable, startKillable } from "./support/killable.ts";
import { faultsIn, fillClinics, type Model } from "./support/sealed-clinics.ts";
import { dice, seedOf } from "./support/seed.ts";

const kills = Number(process.env["KILLS"] ?? 100);
const patientsEach = 1_500;
const settings = { KEYS_HELD_SECONDS: "1", ROTATION_PACE_PERCENT: "40" };

let service: TestService;
let superadmin: string;
let model: Model;
const tokens = new Map<number, string>();
let running: Killable;
let bootSecret: string;

beforeAll(async () => {
  service = await startService(settings);
  bootSecret = service.settings.BOOT_SECRET ?? "";
  superadmin = await service.signIn("superadmin");
  for (let n = 0; n < 3; n++) {
    const { id, token, subdomain } = await makeClinic(service, superadmin);
    const { email } = await makeUser(service, token, { can_see_all_patients: true });
    tokens.set(id, await service.signInAs(email, subdomain));
  }
  model = await fillClinics(service.database.owner, bootSecret, [...tokens.keys()], patientsEach);
  await service.process.stop();
  running = await startKillable(service);
}, 120_000);
afterAll(async () => {
  await running?.stop();
  await service?.stop();
});

/** undefined when the process died before it answered. */
async function call(method: string, path: string, token: string, body?: unknown) {
  try {
    return await callApi(running.url, method, path, { token, body });
  } catch {
    return undefined;
  }
}

const rotate = () =>
  call("POST", "/api/admin/encryption/rotate", superadmin, { new_key: randomBytes(32).toString("base64") });
const rotation = async () =>
  (await call("GET", "/api/admin/encryption/status", superadmin))?.body?.rotation as
    | { status: string }
    | null
    | undefined;

describe("the checker", () => {
  it("finds nothing in what is whole", async () => {
    expect(await faultsIn(service.database.owner, bootSecret, model)).toEqual([]);
  });

  it("sees a value that was broken, and one that was replaced by an older one", async () => {
    const { owner } = service.database;
    const [one, two] = model.keys();
    const { rows } = await owner.query("select id, notes from patients where id = any($1) order by id", [
      [one, two],
    ]);
    await owner.query(
      "update patients set notes = overlay(notes placing '\\xff00ff' from 20) where id = $1",
      [one],
    );
    model.get(two ?? 0)?.notes.clear();
    const faults = await faultsIn(owner, bootSecret, model);
    for (const row of rows)
      await owner.query("update patients set notes = $1 where id = $2", [row.notes, row.id]);
    model.get(two ?? 0)?.notes.add(`notes of ${two}`);
    expect(faults).toEqual([
      expect.stringMatching(new RegExp(`^patient ${one}: notes: SealBroken`)),
      `patient ${two}: notes says something else`,
    ]);
    expect(await faultsIn(owner, bootSecret, model)).toEqual([]);
  });
});

/** Reads and writes until told to stop. @returns what it was told that it should not have been */
function load(seed: number, ending: AbortSignal): Promise<string[]> {
  const wrong: string[] = [];
  const ids = [...model.keys()];
  const client = async (number: number) => {
    const roll = dice(seed + number);
    // Each client writes its own patients, so that it knows what the last one wrote.
    const mine = ids.filter((id) => id % 4 === number);
    for (let round = 0; !ending.aborted; round++) {
      const id = (number < 2 ? mine : ids)[roll(number < 2 ? mine.length : ids.length)] ?? 0;
      const known = model.get(id);
      const token = tokens.get(known?.tenantId ?? 0) ?? "";
      const { answer, notes } = await read(id, token);
      if (answer === undefined) {
        await delay(50);
        continue;
      }
      if (answer.status !== 200) {
        if (answer.status !== 503) wrong.push(`GET ${id}: ${answer.status} ${JSON.stringify(answer.body)}`);
        continue;
      }
      if (answer.body.full_name !== known?.full_name || !notes.has(answer.body.notes))
        wrong.push(`GET ${id}: says something else`);
      if (number < 2 && known !== undefined)
        await write(id, known.notes, token, answer.body.version, `${number}-${round}`);
    }
  };
  return Promise.all([0, 1, 2, 3].map((number) => client(number))).then(() => wrong);
}

/** What reads under way may be told besides what was known when they began: another client may write meanwhile. */
const reading = new Map<number, Set<Set<string>>>();

/** @returns the answer, and all that the notes may have been at a moment between question and answer */
async function read(id: number, token: string) {
  const notes = new Set(model.get(id)?.notes);
  const readers = reading.get(id) ?? new Set();
  reading.set(id, readers.add(notes));
  const answer = await call("GET", `/api/patients/${id}`, token);
  readers.delete(notes);
  return { answer, notes };
}

async function write(
  id: number,
  notes: Set<string>,
  token: string,
  version: number,
  text: string,
): Promise<void> {
  for (const may of [notes, ...(reading.get(id) ?? [])]) may.add(text);
  const answer = await call("PUT", `/api/patients/${id}`, token, { version, notes: text });
  // It may have been written or not: any of the texts may be read from now on.
  if (answer?.status !== 200) return;
  notes.clear();
  notes.add(text);
}

describe(`a rotation killed ${kills} times`, () => {
  it("loses nothing, tells nothing wrong, and finishes", async () => {
    const seed = seedOf("rotation");
    const roll = dice(seed);
    const ending = new AbortController();
    const wrong = load(seed, ending.signal);
    const faults: string[] = [];
    for (let kill = 1; kill <= kills; kill++) {
      const now = await rotation();
      if (now === null || now?.status === "finished") {
        // Half of the first moments are in the middle of phase 1, which takes some milliseconds.
        const rotating = rotate();
        if (roll(2) === 0) await delay(roll(40));
        else await rotating;
      }
      await delay(roll(2) === 0 ? roll(300) : roll(7_000));
      await running.kill();
      if (kill % 5 === 0) faults.push(...(await faultsIn(service.database.owner, bootSecret, model)));
      if (faults.length > 0) break;
      running = await startKillable(service);
    }
    await eventually(async () => {
      const now = await rotation();
      return now === null || now?.status === "finished";
    }, 120_000);
    ending.abort();
    expect(await wrong).toEqual([]);
    faults.push(...(await faultsIn(service.database.owner, bootSecret, model)));
    expect(faults).toEqual([]);
    const { rows } = await service.database.owner.query(
      `select (select count(*)::integer from data_keys where state = 'decrypt_only') as old_data_keys,
         (select count(*)::integer from master_keys where state = 'decrypt_only') as old_master_keys,
         (select count(*)::integer from quarantined_fields) as quarantined,
         (select count(*)::integer from rotations where state = 'finished') as finished`,
    );
    process.stdout.write(`rotation: ${kills} kills, ${rows[0].finished} rotations finished\n`);
    expect(rows[0].finished).toBeGreaterThan(0);
    expect(rows[0]).toMatchObject({ old_data_keys: 0, old_master_keys: 0, quarantined: 0 });
  });
});
