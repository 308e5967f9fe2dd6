// The list of patients. A search finds the beginning of a record number, and whole names and phone numbers by their
// blind indexes; each alternative has an index of its own.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import type { Statement } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { openingKeys, sealingKeys } from "../shared/sealing/ask-keys.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { offsetOf, type Page, toPage } from "../shared/wire.ts";
import { nameIndex, phoneIndex } from "./blind-indexes.ts";
import { openPatient, patientColumns, type PatientRow, sealedIn, toListedPatient } from "./patient-row.ts";
import type { ListedPatient, patientsContract, patientSorts } from "./patients.contract.ts";
import { endOfPrefix, phoneFault } from "./patients.rules.ts";
import { visibleTo, visibilityOf, type Visibility } from "./visibility.ts";

type Params = ParamsOf<(typeof patientsContract)["patients.list"]>;

const sortColumns: Record<(typeof patientSorts)[number], string> = {
  id: "p.id",
  record_number: "p.record_key",
  created_at: "p.created_at",
};

/** The page hangs on the total by a left join, so an empty page still brings it: then `id` is null. */
type Row = (PatientRow | { id: null }) & { total: number };

export async function listPatients(call: Call<Params>): Promise<Page<ListedPatient>> {
  const { page, limit } = call.params;
  const offset = offsetOf(page, limit);
  const sight = visibilityOf(call);
  const { tenantId } = sight;
  const search = call.params.search ?? "";
  const keys = search === "" ? undefined : await sealingKeys(call, tenantId);
  const found = await call.db.read<Row>({ tenantId }, listStatement(sight, call.params, offset, keys));
  const total = found[0]?.total ?? 0;
  const items = await openAll(
    call,
    tenantId,
    found.flatMap((row) => (row.id === null ? [] : [row])),
  );
  const changes = { count: items.length, searched: search !== "" };
  await call.db.recordRead(call.caller, { tenantId, action: "patient.list", changes });
  return toPage(items, total, page, limit);
}

/** @param keys the tenant's, when there is something to search for */
export function listStatement(
  sight: Visibility,
  params: Params,
  offset: number,
  keys: TenantKeys | undefined,
): Statement {
  const { values, bind } = binder();
  const seen = visibleTo(sight, bind);
  const search = params.search ?? "";
  const where = keys === undefined ? seen : `${seen} and (${foundBy(keys, search, bind)})`;
  const order = params.sort_order === "desc" ? "desc" : "asc";
  const sort = params.sort_by === "id" ? "" : `${sortColumns[params.sort_by]} ${order}, `;
  const text = `select total.total, p.* from (select count(*)::integer as total from patients p where ${where}) total
    left join lateral (select ${patientColumns} from patients p where ${where}
      order by ${sort}p.id ${order} limit ${bind(params.limit)} offset ${bind(offset)}) p on true`;
  // Unnamed: a plan made for any tenant may count a small one's rows by walking over a large one's.
  return { text, values };
}

function foundBy(keys: TenantKeys, search: string, bind: (value: unknown) => string): string {
  const from = bind(search);
  const until = bind(endOfPrefix(search));
  const name = bind(nameIndex(keys, search));
  // The digits of what is no phone number are nobody's.
  const phone = bind(phoneFault(search) === undefined ? phoneIndex(keys, search) : null);
  return `p.record_key >= lower(${from}) and p.record_key < lower(${until})
    or p.full_name_index = ${name} or p.phone_index = ${phone}`;
}

/** A row that does not open whole hides no other: its fields are null and named. */
async function openAll(
  call: Call<unknown>,
  tenantId: number,
  rows: readonly PatientRow[],
): Promise<ListedPatient[]> {
  if (rows.length === 0) return [];
  const keys = await openingKeys(call, tenantId, sealedIn(rows));
  const broken: number[] = [];
  const items = rows.map((row) => {
    const { texts, unreadable } = openPatient(keys, row);
    if (unreadable.length > 0) broken.push(row.id);
    return toListedPatient(row, texts, unreadable);
  });
  if (broken.length > 0)
    call.runtime.log.error({ tenantId, patientIds: broken }, "sealed fields do not open");
  return items;
}
