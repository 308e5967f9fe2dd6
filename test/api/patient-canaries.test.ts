// Thirty texts about patients are planted at debug level, remembered by the cache and sealed anew by a rotation, and looked
// for wherever they must not be: log, errors, audit, events, jobs, metrics, every other table, and the very files of the
// database.
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort } from "../support/nats.ts";
import { type Answer, eventually, startService, type TestService } from "../support/service.ts";
import { makeDepartment, makeUser, unique } from "../support/tenancy.ts";

const canaries = {
  name: "Quillon Zebedee Ferrowake",
  birth: "1903-07-19",
  phone: "+99 7734 5501 882",
  notes: "allergic to canaryberries and moonwort",
  body: "complains of vexlumbar resonance",
  laterName: "Quillona Zebra Ferrowaked",
  laterPhone: "+99 1188 2277 334",
  laterNotes: "now tolerates glimmerroot tea",
  soughtName: "Sought Nobody Hexagrimm",
  refused: "refused wyrmlattice paragraph",
} as const;
/** Patients who are read twice, so that the cache has them, and warmed up. */
const others = ["ash", "birch", "cedar", "dogwood", "elder"].map((tree, n) => ({
  full_name: `Remembered Person of the ${tree} grove`,
  phone: `+97 55${n}1 66${n}2 77${n}3`,
  notes: `sneezes under ${tree} trees in quintober`,
  body: `was seen asleep below the ${tree} by vellichor`,
}));
const planted = [...Object.values(canaries), ...others.flatMap((other) => Object.values(other))];
/** The rotation's new key, which must not be found either. */
const newKey = randomBytes(32).toString("base64");
/** Stored in clear, so a search that works finds it: in tables and in files. */
const control = "CTRL-opalfinch-42";

let service: TestService;
const errors: Answer[] = [];
let patientId = 0;
const otherIds: number[] = [];
let metrics = "";

beforeAll(async () => {
  const metricsPort = String(await freePort());
  service = await startService({
    LOG_LEVEL: "debug",
    METRICS_PORT: metricsPort,
    KEYS_HELD_SECONDS: "1",
    ROTATION_PACE_PERCENT: "100",
  });
  const admin = await service.signIn("admin");
  const ward = await makeDepartment(service, admin);
  const seer = await makeUser(service, admin, { can_see_all_patients: true });
  const nurse = await makeUser(service, admin, { department_id: ward.id });
  const token = await service.signInAs(seer.email, "demo");
  const unseeing = await service.signInAs(nurse.email, "demo");
  const call = async (method: string, path: string, body?: unknown, as = token): Promise<Answer> => {
    const answer = await service.call(method, path, { token: as, body });
    if (answer.status >= 400) errors.push(answer);
    return answer;
  };
  const { name, birth, phone, notes, body, laterName, laterPhone, laterNotes, soughtName, refused } =
    canaries;
  const texts = { full_name: name, birth_date: birth, phone, notes };
  const made = await call("POST", "/api/patients", { record_number: control, ...texts });
  patientId = made.body.id;
  const path = `/api/patients/${patientId}`;
  await call("POST", `${path}/records`, { kind: "visit", body });
  await call("GET", path);
  await call("GET", `${path}/records`);
  for (const sought of Object.values(canaries))
    await call("GET", `/api/patients?search=${encodeURIComponent(sought)}`);
  await call("GET", `/api/patients?sort_by=${encodeURIComponent(soughtName)}`);
  await call("GET", `/api/patients/${encodeURIComponent(soughtName)}`);
  await call("PUT", path, { version: 1, full_name: laterName, phone: laterPhone, notes: laterNotes });
  // Refused in every way there is, with patient text on the way.
  await call("PUT", path, { version: 1, notes: refused });
  await call("PUT", path, { version: refused, notes: refused, phone: refused, birth_date: refused });
  await call("PUT", path, { version: 2, notes: refused }, unseeing);
  await call("POST", "/api/patients", { record_number: control, ...texts, notes: refused });
  await call("POST", "/api/patients", { record_number: "X", ...texts, department_id: 2_000_000_000 });
  await call("POST", "/api/patients", { record_number: "X", ...texts, department_id: ward.id + 1 }, unseeing);
  await call("POST", "/api/patients", `{"full_name": "${refused}`);
  await call("POST", "/api/patients", {
    record_number: "X",
    full_name: `${refused}${"x".repeat(1_100_000)}`,
  });
  await call("POST", `${path}/records`, { kind: refused.repeat(3), body: refused });
  await call("POST", `${path}/records`, { kind: "visit", body: refused }, unseeing);
  await service.call("POST", "/api/patients", { body: texts });
  // A field that does not open, so that this is logged and told too.
  await service.database.owner.query("update patients set notes = identity where id = $1", [patientId]);
  await call("GET", path);
  await call("GET", "/api/patients");
  for (const { body: found, ...person } of others) {
    const { body: one } = await call("POST", "/api/patients", {
      record_number: person.phone.slice(1, 3) + unique("-"),
      ...person,
    });
    otherIds.push(one.id);
    await call("POST", `/api/patients/${one.id}/records`, { kind: "visit", body: found });
    for (const part of ["", "", "/records", "/records"]) await call("GET", `/api/patients/${one.id}${part}`);
  }
  await call("POST", "/api/admin/cache/invalidate", { all: true }, admin);
  await call("POST", "/api/admin/cache/warmup", { patient_ids: otherIds }, admin);
  await rotateKeys();
  metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const second = await call("POST", "/api/patients", { record_number: "gone", ...texts });
  await call("DELETE", `/api/patients/${second.body.id}`);
  await service.database.owner.query("select graphile_worker.add_job('patients.purge')");
  await service.database.owner.query("checkpoint");
  // The log is written a moment later.
  await eventually(async () => service.process.output().includes('"method":"DELETE"'));
});
afterAll(() => service.stop());

async function rotateKeys(): Promise<void> {
  const token = await service.signIn("superadmin");
  const path = "/api/admin/encryption";
  const answer = await service.call("POST", `${path}/rotate`, { token, body: { new_key: newKey } });
  expect(answer.status).toBe(200);
  await eventually(async () => {
    const { body } = await service.call("GET", `${path}/status`, { token });
    return body.rotation.status === "finished" && body.quarantined.count === 1;
  });
}

/** Also as hexadecimal, as PostgreSQL prints bytes. */
function foundIn(text: string, words: readonly string[] = [...planted, newKey]): string[] {
  return words.filter((word) => text.includes(word) || text.includes(Buffer.from(word).toString("hex")));
}

async function tablesHolding(words: readonly string[]): Promise<string[]> {
  const { owner } = service.database;
  const { rows } = await owner.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  );
  const holding: string[] = [];
  for (const { name } of rows) {
    const all = await owner.query<{ row: string }>(`select t::text as row from ${name} t`);
    if (foundIn(all.rows.map(({ row }) => row).join("\n"), words).length > 0) holding.push(name);
  }
  return holding;
}

function filesHolding(words: readonly string[]): string[] {
  const folder = join(service.database.folder, "postgres");
  const needles = words.flatMap((word) => [
    Buffer.from(word),
    Buffer.from(Buffer.from(word).toString("hex")),
  ]);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile());
  return files.filter((file) => {
    const bytes = readFileSync(file);
    return needles.some((needle) => bytes.includes(needle));
  });
}

describe("patient text is nowhere in", () => {
  it("the log at debug level, which does tell of the calls and of what did not open", () => {
    const output = service.process.output();
    expect(foundIn(output)).toEqual([]);
    expect(output).toMatch(/sealed fields do not open/);
    expect(output).toMatch(/api\/patients/);
  });

  it("metrics, which do tell of the actions", () => {
    expect(foundIn(metrics)).toEqual([]);
    expect(metrics).toMatch(/patients\.get/);
  });

  it("errors, of which there were all kinds", () => {
    expect(new Set(errors.map(({ status }) => status))).toEqual(new Set([403, 404, 409, 413, 422, 503]));
    for (const { body, headers } of errors) {
      expect(foundIn(JSON.stringify([body, [...headers]]))).toEqual([]);
    }
  });

  it("any table, be it audit, events or jobs; what is stored in clear is found", async () => {
    expect(await tablesHolding([...planted, newKey])).toEqual([]);
    expect(await tablesHolding([control])).toEqual(["public.patients"]);
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as entries from audit_entries where action ~ '^(patient|record)\\.'",
    );
    expect(rows[0].entries).toBeGreaterThanOrEqual(20);
  });

  it("the statements the server remembers", async () => {
    const { rows } = await service.database.owner.query("select query from pg_stat_activity");
    expect(foundIn(JSON.stringify(rows))).toEqual([]);
  });

  it("the database's files, its write-ahead log included; what is stored in clear is found", () => {
    expect(filesHolding([...planted, newKey])).toEqual([]);
    const found = filesHolding([control]);
    expect(found.some((file) => file.includes("/base/"))).toBe(true);
    expect(found.some((file) => file.includes("/pg_wal/"))).toBe(true);
  });

  it("though all of it was there to be read", async () => {
    const seer = await makeUser(service, await service.signIn("admin"), { can_see_all_patients: true });
    const token = await service.signInAs(seer.email, "demo");
    const { body } = await service.call("GET", "/api/patients", { token });
    expect(planted).toHaveLength(30);
    expect(body.items).toMatchObject([
      {
        id: patientId,
        full_name: canaries.laterName,
        birth_date: canaries.birth,
        phone: canaries.laterPhone,
      },
      ...others.map(({ body: _record, ...person }) => person),
    ]);
    const records = await service.call("GET", `/api/patients/${patientId}/records`, { token });
    expect(records.body.items).toMatchObject([{ body: canaries.body }]);
  });
});
