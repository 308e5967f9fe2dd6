// Sealed patients, each with one record, put in by the owner: a note of 200 characters, a record of 1 kB.
import type pg from "pg";
import { identityText, TestKeyring } from "../support/keyring.ts";
import { unsealed } from "./unsealed-ciphertext.ts";

const page = 1_000;
export const noteText = "n".repeat(200);
export const recordText = "r".repeat(1_000);

const insert = `with given as (
    select * from unnest($2::integer[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::integer[], $8::bytea[])
      as g (id, identity, full_name_index, phone_index, notes, record_id, body)),
  made as (
    insert into patients (id, tenant_id, record_number, identity, full_name_index, phone_index, notes)
    select id, $1, 'B-' || id, identity, full_name_index, phone_index, notes from given)
  insert into patient_records (id, tenant_id, patient_id, kind, body) select record_id, $1, id, 'note', body from given`;

/**
 * @param options `inClear`: for the service without cryptography (unsealed-hook.ts)
 * @returns the ids
 */
export async function addPatients(
  owner: pg.Client,
  bootSecret: string,
  tenantId: number,
  count: number,
  { inClear = false } = {},
): Promise<number[]> {
  const keys = await new TestKeyring(owner, bootSecret).of(tenantId);
  const seal: typeof keys.seal = (table, column, id, text) => {
    const sealed = keys.seal(table, column, id, text);
    return inClear ? unsealed(sealed, text) : sealed;
  };
  const ids: number[] = [];
  while (ids.length < count) {
    const drawn = await owner.query<{ id: number; record_id: number }>(
      `select nextval('patients_id_seq')::integer as id, nextval('patient_records_id_seq')::integer as record_id
       from generate_series(1, $1)`,
      [Math.min(page, count - ids.length)],
    );
    const rows = drawn.rows.map(({ id, record_id: recordId }) => [
      id,
      seal("patients", "identity", id, identityText(`Person ${id}`, "1970-01-01", `+49${id}`)),
      keys.blindIndex("full_name", `person ${id}`),
      keys.blindIndex("phone", `+49${id}`),
      seal("patients", "notes", id, noteText),
      recordId,
      seal("patient_records", "body", recordId, recordText),
    ]);
    await owner.query(insert, [
      tenantId,
      ...Array.from({ length: 7 }, (_, at) => rows.map((row) => row[at])),
    ]);
    ids.push(...drawn.rows.map(({ id }) => id));
  }
  await owner.query("vacuum (analyze) patients");
  await owner.query("vacuum (analyze) patient_records");
  await owner.query("checkpoint");
  return ids;
}
