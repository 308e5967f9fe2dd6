// Records about a patient. Everybody who may see the patient may see them; they are never changed.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { preparedName } from "../shared/database/scope.ts";
import { NotFound } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { openingKeys, sealingKeys } from "../shared/sealing/ask-keys.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { ListedRecord, PatientRecord, patientsContract } from "./patients.contract.ts";
import type { CacheKey } from "./cache-client.ts";
import { readCached } from "./read-patient.ts";
import { isCacheOff, type CachedContent } from "./cached-reading.ts";
import { visibleTo, type Visibility, visibilityOf } from "./visibility.ts";
import type { RowOf } from "../shared/database/row.ts";

type Create = Call<ParamsOf<(typeof patientsContract)["patients.create_record"]>>;
type List = Call<ParamsOf<(typeof patientsContract)["patients.list_records"]>>;

type RecordRow = Omit<PatientRecord, "body"> & RowOf<"patient_records", "body">;
const ofPatient = "r.tenant_id = patient.tenant_id and r.patient_id = patient.id";
const recordColumns = "id, patient_id, author_id, kind, body, created_at";

/** Adds a record to a patient. @throws NotFound */
export async function createRecord(call: Create): Promise<PatientRecord> {
  const { patient_id: patientId, kind, body } = call.params;
  const visibility = visibilityOf(call);
  const { tenantId, userId } = visibility;
  const { values, bind } = binder();
  const drawn = await call.db.writeOne<{ id: number }>({ tenantId }, call.caller, {
    name: visibility.canSeeAllPatients ? "patient_records.draw" : "patient_records.draw_in_department",
    text: `select nextval('patient_records_id_seq')::integer as id from patients p
        where ${visibleTo(visibility, bind)} and p.id = ${bind(patientId)}`,
    values,
  });
  if (drawn === undefined) throw new NotFound("Patient");
  const { id } = drawn;
  const sealed = (await sealingKeys(call, tenantId)).seal("patient_records", "body", id, body);
  const row = await call.db.change({ tenantId }, call.caller, async (change) => {
    const made = await change.one<RecordRow>(
      `insert into patient_records (id, tenant_id, patient_id, author_id, kind, body) values ($1, $2, $3, $4, $5, $6)
       returning ${recordColumns}`,
      [id, tenantId, patientId, userId, kind, sealed],
    );
    const changes = { patient_id: patientId };
    change.audit({ tenantId, action: "record.create", target: { type: "record", id }, changes });
    change.publishEvent({
      tenantId,
      kind: "record.created",
      payload: { record_id: id, patient_id: patientId },
    });
    return made;
  });
  return { ...toWire(row), body };
}

/**
 * No row: the patient does not exist for this caller. A row whose `id` is null: the patient has no record.
 */
type Row = (RecordRow | { id: null }) & { total: number };

/** Records and sealed bytes of a patient that are cached together. Beyond either bound, nothing is cached. */
const cachedRecordsMax = 200;
const cachedBytesMax = 225_000;

/** One page of a patient's records. The read is recorded before it is answered. @throws NotFound */
export async function listRecords(call: List): Promise<Page<ListedRecord>> {
  const visibility = visibilityOf(call);
  if (!isCacheOff(call)) {
    const { patient_id: patientId } = call.params;
    const cacheKey = { tenantId: visibility.tenantId, patientId, part: "records" } as const;
    const count = (all: readonly ListedRecord[]) => ({ count: pageOfAll(call, all).items.length });
    const all = await readCached(
      call,
      visibility,
      cacheKey,
      () => loadRecords(call, cacheKey),
      "record.list",
      count,
    );
    if (all !== undefined) return pageOfAll(call, all);
  }
  return listUncached(call, visibility);
}

/** A page of all records, which arrive in the order of their ids. */
function pageOfAll({ params }: List, all: readonly ListedRecord[]): Page<ListedRecord> {
  const { page, limit, sort_by: by, sort_order: order } = params;
  const sorted = [...all];
  if (by === "created_at") sorted.sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id - b.id);
  if (order === "desc") sorted.reverse();
  const offset = offsetOf(page, limit);
  return toPage(sorted.slice(offset, offset + limit), all.length, page, limit);
}

/**
 * Loads all records of a patient for the cache. One statement, so that the stamp belongs to exactly these
 * records. If they exceed the bounds, only their size is read.
 */
export async function loadRecords(
  call: Call<unknown>,
  { tenantId, patientId }: CacheKey,
): Promise<CachedContent<ListedRecord[]> | undefined> {
  const found = await call.db.read<
    RowOf<"patients", "stamp", { fits: boolean }> & (RecordRow | { id: null })
  >(
    { tenantId },
    {
      name: "patient_records.load",
      text: `select patient.stamp, size.fits, r.* from (select p.tenant_id, p.id, p.stamp from patients p
          where p.tenant_id = $1 and p.id = $2 and p.deleted_at is null) patient
        cross join lateral (
          select count(*) <= ${cachedRecordsMax} and coalesce(sum(octet_length(body)), 0) <= ${cachedBytesMax} as fits
          from (select body from patient_records r where ${ofPatient} order by id limit ${cachedRecordsMax + 1}) counted) size
        left join lateral (select ${recordColumns} from patient_records r where size.fits and ${ofPatient}
          order by id limit ${cachedRecordsMax}) r on true`,
      values: [tenantId, patientId],
    },
  );
  const [first] = found;
  if (first === undefined) return undefined;
  if (!first.fits) return { stamp: first.stamp, content: null };
  const rows = found.flatMap((row) => (row.id === null ? [] : [row]));
  const content = await openRecords(call, tenantId, rows);
  return content.some(({ body }) => body === null) ? undefined : { stamp: first.stamp, content };
}

async function listUncached(call: List, visibility: Visibility): Promise<Page<ListedRecord>> {
  const { patient_id: patientId, page, limit, sort_by: by, sort_order: order } = call.params;
  const offset = offsetOf(page, limit);
  const { tenantId } = visibility;
  const { values, bind } = binder();
  const seen = `${visibleTo(visibility, bind)} and p.id = ${bind(patientId)}`;
  const sort = by === "id" ? "" : `created_at ${order}, `;
  const text = `select total.total, r.* from (select p.tenant_id, p.id from patients p where ${seen}) patient
    cross join lateral (select count(*)::integer as total from patient_records r where ${ofPatient}) total
    left join lateral (select ${recordColumns} from patient_records r where ${ofPatient}
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
  await call.db.recordRead(call.caller, {
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

/** `body` is empty and set by the caller. The order of the properties is that of the answer. */
function toWire({ id, patient_id, author_id, kind, created_at }: RecordRow): PatientRecord {
  return { id, patient_id, author_id, kind, body: "", created_at: toIso(created_at) };
}
