// Clinics with sealed patients put there past the service, a model of what they hold, and the check that the database
// holds exactly that: every sealed value opens with the keys that are there, and says what the model says.
import type pg from "pg";
import { identityText, TestKeyring } from "../../../support/keyring.ts";

interface ModelPatient {
  tenantId: number;
  full_name: string;
  phone: string;
  /** All that it may be: a write whose answer was lost may or may not have happened. */
  notes: Set<string>;
  /** Of the one record. */
  body: string;
}

export type Model = Map<number, ModelPatient>;

export async function fillClinics(
  owner: pg.Client,
  bootSecret: string,
  tenantIds: readonly number[],
  patientsEach: number,
): Promise<Model> {
  const model: Model = new Map();
  const keyring = new TestKeyring(owner, bootSecret);
  for (const tenantId of tenantIds) {
    const keys = await keyring.of(tenantId);
    const drawn = await owner.query<{ id: number; record_id: number }>(
      `select nextval('patients_id_seq')::integer as id, nextval('patient_records_id_seq')::integer as record_id
       from generate_series(1, $1)`,
      [patientsEach],
    );
    const rows = drawn.rows.map(({ id, record_id: recordId }) => {
      const patient = {
        tenantId,
        full_name: `Person ${id}`,
        phone: `+49${id}`,
        notes: new Set([`notes of ${id}`]),
        body: `record of ${id}`,
      };
      model.set(id, patient);
      const seal = (column: "identity" | "notes", text: string) =>
        keys.seal("patients", column, id, text).toString("hex");
      return {
        id,
        record_id: recordId,
        record_number: `F-${id}`,
        identity: seal("identity", identityOf(patient)),
        full_name_index: keys.blindIndex("full_name", patient.full_name.toLowerCase()).toString("hex"),
        phone_index: keys.blindIndex("phone", patient.phone).toString("hex"),
        notes: seal("notes", `notes of ${id}`),
        body: keys.seal("patient_records", "body", recordId, patient.body).toString("hex"),
      };
    });
    await owner.query(insertRows, [tenantId, JSON.stringify(rows)]);
  }
  return model;
}

const identityOf = ({ full_name, phone }: ModelPatient) => identityText(full_name, null, phone);

const insertRows = `with given as (select * from json_to_recordset($2) as g (id integer, record_id integer,
    record_number text, identity text, full_name_index text, phone_index text, notes text, body text)),
  made as (insert into patients (id, tenant_id, record_number, identity, full_name_index, phone_index, notes)
    select id, $1, record_number, decode(identity, 'hex'), decode(full_name_index, 'hex'), decode(phone_index, 'hex'), decode(notes, 'hex') from given)
  insert into patient_records (id, tenant_id, patient_id, kind, body)
  select record_id, $1, id, 'note', decode(body, 'hex') from given`;

interface Row {
  id: number;
  tenant_id: number;
  identity: Buffer;
  notes: Buffer;
  record_id: number;
  body: Buffer;
}

/** @returns a sentence for every value that does not open, or that is not what the model says; at most ten */
export async function faultsIn(owner: pg.Client, bootSecret: string, model: Model): Promise<string[]> {
  // One moment for rows and keys alike: both are read in one transaction.
  await owner.query("begin isolation level repeatable read");
  try {
    const keyring = new TestKeyring(owner, bootSecret, { makes: false });
    const { rows } = await owner.query<Row>(
      `select p.id, p.tenant_id, p.identity, p.notes, r.id as record_id, r.body
       from patients p join patient_records r on r.tenant_id = p.tenant_id and r.patient_id = p.id
       where p.id = any($1)`,
      [[...model.keys()]],
    );
    const faults = rows.length === model.size ? [] : [`${rows.length} patients, not ${model.size}`];
    for (const row of rows) {
      const known = model.get(row.id);
      if (known === undefined) continue;
      const keys = await keyring.of(row.tenant_id);
      const say = (what: string, wanted: (text: string) => boolean, open: () => string) => {
        try {
          if (!wanted(open())) faults.push(`patient ${row.id}: ${what} says something else`);
        } catch (error) {
          faults.push(`patient ${row.id}: ${what}: ${String(error)}`);
        }
      };
      say(
        "identity",
        (text) => text === identityOf(known),
        () => keys.open("patients", "identity", row.id, row.identity),
      );
      say(
        "notes",
        (text) => known.notes.has(text),
        () => keys.open("patients", "notes", row.id, row.notes),
      );
      say(
        "record",
        (text) => text === known.body,
        () => keys.open("patient_records", "body", row.record_id, row.body),
      );
      if (faults.length >= 10) break;
    }
    return faults;
  } finally {
    await owner.query("commit");
  }
}
