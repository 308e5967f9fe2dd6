// A child process, the bare program of the rotation: select 2 000 rows, re-encrypt, write them back by one
// UPDATE … FROM unnest; no registry, no cursor on disk, no compare and swap, no second look.
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import pg from "pg";
import { identityText } from "../support/keyring.ts";
import { noteText, recordText } from "./fill-patients.ts";
import { readJob } from "./task.ts";

export interface BareRotationJob {
  url: string;
  patients: number;
}
export interface BareRotationResult {
  rows: number;
  ms: number;
}

const job = await readJob<BareRotationJob>();
const client = new pg.Client({ connectionString: job.url });
await client.connect();
const [before, after] = [createSecretKey(randomBytes(32)), createSecretKey(randomBytes(32))];

function seal(key: KeyObject, text: string | Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const body = typeof text === "string" ? cipher.update(text, "utf8") : cipher.update(text);
  return Buffer.concat([nonce, body, cipher.final(), cipher.getAuthTag()]);
}

function reseal(sealed: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", before, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(sealed.length - 16));
  return seal(after, Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]));
}

const tables = {
  bare_patients: ["identity", "notes"],
  bare_records: ["body"],
} as const;
await client.query("create table bare_patients (like patients including all)");
await client.query("create table bare_records (like patient_records including all)");
const insertPatients = `insert into bare_patients (id, tenant_id, record_number, identity, full_name_index, phone_index, notes)
  select id, 1, 'B-' || id, identity, sha256(identity), sha256(notes), notes
  from unnest($1::integer[], $2::bytea[], $3::bytea[]) as u (id, identity, notes)`;
for (let start = 1; start <= job.patients; start += 2_000) {
  const ids = Array.from({ length: Math.min(2_000, job.patients - start + 1) }, (_, at) => start + at);
  const column = (text: (id: number) => string) => ids.map((id) => seal(before, text(id)));
  await client.query(insertPatients, [
    ids,
    column((id) => identityText(`Person ${id}`, "1970-01-01", `+49${id}`)),
    column(() => noteText),
  ]);
  await client.query(
    `insert into bare_records (id, tenant_id, patient_id, kind, body)
     select id, 1, id, 'note', body from unnest($1::integer[], $2::bytea[]) as u (id, body)`,
    [ids, column(() => recordText)],
  );
}
for (const table of Object.keys(tables)) await client.query(`vacuum (analyze) ${table}`);
await client.query("checkpoint");

let rows = 0;
const startedAt = performance.now();
for (const [table, columns] of Object.entries(tables)) {
  const list = columns.join(", ");
  const sets = columns.map((column) => `${column} = u.${column}`).join(", ");
  const arrays = columns.map((_, at) => `$${at + 2}::bytea[]`).join(", ");
  for (let last = 0; ; ) {
    const batch = await client.query<Record<string, Buffer> & { id: number }>({
      name: `read ${table}`,
      text: `select id, ${list} from ${table} where tenant_id = 1 and id > $1 order by tenant_id, id limit 2000`,
      values: [last],
    });
    if (batch.rows.length === 0) break;
    await client.query({
      name: `write ${table}`,
      text: `update ${table} t set ${sets} from unnest($1::integer[], ${arrays}) as u (id, ${list})
        where t.tenant_id = 1 and t.id = u.id`,
      values: [
        batch.rows.map(({ id }) => id),
        ...columns.map((column) => batch.rows.map((row) => reseal(row[column] ?? Buffer.alloc(0)))),
      ],
    });
    rows += batch.rows.length;
    last = batch.rows.at(-1)?.id ?? last;
  }
}
const result: BareRotationResult = { rows, ms: performance.now() - startedAt };
await client.query("drop table bare_patients, bare_records");
await client.end();
process.stdout.write(JSON.stringify(result));
