// What is written about a patient, and by whom. Who sees the patient sees it too; nobody changes it.
import type { Call } from "../shared/bus.ts";
import { preparedName } from "../shared/database/scope.ts";
import { NotFound } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { openingKeys, sealingKeys } from "../shared/sealing/ask-keys.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { ListedRecord, PatientRecord, patientsContract } from "./patients.contract.ts";
import { binder, seenBy, sightOf } from "./sight.ts";

type Create = Call<ParamsOf<(typeof patientsContract)["patients.create_record"]>>;
type List = Call<ParamsOf<(typeof patientsContract)["patients.list_records"]>>;

interface RecordRow extends Omit<PatientRecord, "body"> {
  body: Buffer;
}
const recordColumns = "id, patient_id, author_id, kind, body, created_at";

export async function createRecord(call: Create): Promise<PatientRecord> {
  const { patient_id: patientId, kind, body } = call.params;
  const sight = sightOf(call);
  const { tenantId, userId } = sight;
  const { values, bind } = binder();
  const drawn = await call.db.readOne<{ id: number }>(
    { tenantId },
    {
      name: sight.canSeeAllPatients ? "patient_records.draw" : "patient_records.draw_in_department",
      text: `select nextval('patient_records_id_seq')::integer as id from patients p
        where ${seenBy(sight, bind)} and p.id = ${bind(patientId)}`,
      values,
    },
  );
  if (drawn === undefined) throw new NotFound("Patient");
  const { id } = drawn;
  const sealed = (await sealingKeys(call, tenantId)).seal("patient_records", "body", id, body);
  const row = await call.db.change({ tenantId }, call.caller, async (change) => {
    const [made] = await change.execute<RecordRow>(
      `insert into patient_records (id, tenant_id, patient_id, author_id, kind, body) values (?, ?, ?, ?, ?, ?)
       returning ${recordColumns}`,
      [id, tenantId, patientId, userId, kind, sealed],
    );
    if (made === undefined) throw new Error("an inserted row was not returned");
    const changes = { patient_id: patientId };
    change.audit({ tenantId, action: "record.create", target: { type: "record", id }, changes });
    change.tell({ tenantId, kind: "record.created", payload: { record_id: id, patient_id: patientId } });
    return made;
  });
  return { ...toWire(row), body };
}

/** Without a patient there is no row at all; with one and no record, the total alone: then `id` is null. */
type Row = (RecordRow | { id: null }) & { total: number };

export async function listRecords(call: List): Promise<Page<ListedRecord>> {
  const { patient_id: patientId, page, limit, sort_by: by, sort_order: order } = call.params;
  const offset = offsetOf(page, limit);
  const sight = sightOf(call);
  const { tenantId } = sight;
  const { values, bind } = binder();
  const seen = `${seenBy(sight, bind)} and p.id = ${bind(patientId)}`;
  const sort = by === "id" ? "" : `created_at ${order}, `;
  const of = "r.tenant_id = patient.tenant_id and r.patient_id = patient.id";
  const text = `select total.total, r.* from (select p.tenant_id, p.id from patients p where ${seen}) patient
    cross join lateral (select count(*)::integer as total from patient_records r where ${of}) total
    left join lateral (select ${recordColumns} from patient_records r where ${of}
      order by ${sort}id ${order} limit ${bind(limit)} offset ${bind(offset)}) r on true`;
  const found = await call.db.read<Row>({ tenantId }, { name: preparedName(text), text, values });
  const [first] = found;
  if (first === undefined) throw new NotFound("Patient");
  const items = await openRecords(
    call,
    tenantId,
    found.flatMap((row) => (row.id === null ? [] : [row])),
  );
  const target = { type: "patient", id: patientId };
  await call.db.note(call.caller, {
    tenantId,
    action: "record.list",
    target,
    changes: { count: items.length },
  });
  return toPage(items, first.total, page, limit);
}

async function openRecords(
  call: Call<unknown>,
  tenantId: number,
  rows: readonly RecordRow[],
): Promise<ListedRecord[]> {
  if (rows.length === 0) return [];
  const sealed = rows.map(({ body }) => body);
  const keys = await openingKeys(call, tenantId, sealed);
  const items = rows.map((row) => toListed(keys, row));
  const broken = items.filter(({ body }) => body === null).map(({ id }) => id);
  if (broken.length > 0) call.runtime.log.error({ tenantId, recordIds: broken }, "sealed fields do not open");
  return items;
}

function toListed(keys: TenantKeys, row: RecordRow): ListedRecord {
  try {
    return { ...toWire(row), body: keys.open("patient_records", "body", row.id, row.body) };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    return { ...toWire(row), body: null, unreadable: ["body"] };
  }
}

/** `body` keeps its place, to be filled in. */
function toWire({ id, patient_id, author_id, kind, created_at }: RecordRow): PatientRecord {
  return { id, patient_id, author_id, kind, body: "", created_at: toIso(created_at) };
}
