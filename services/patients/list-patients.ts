// The list of patients. A search finds prefixes of record numbers, and whole names and phone numbers by their
// blind indexes. Each alternative has its own index.
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

/**
 * The page is joined to the total by a left join, so an empty page still carries the total; its `id` is null.
 */
type Row = (PatientRow | { id: null }) & { total: number };

/** One page of the patients that the caller may see. The read is recorded before it is answered. */
export async function listPatients(call: Call<Params>): Promise<Page<ListedPatient>> {
  const { page, limit } = call.params;
  const offset = offsetOf(page, limit);
  const visibility = visibilityOf(call);
  const { tenantId } = visibility;
  const search = call.params.search ?? "";
  const keys = search === "" ? undefined : await sealingKeys(call, tenantId);
  const found = await call.db.read<Row>({ tenantId }, listStatement(visibility, call.params, offset, keys));
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

/** The statement for one page. @param keys the tenant's keys, if there is a search term */
export function listStatement(
  visibility: Visibility,
  params: Params,
  offset: number,
  keys: TenantKeys | undefined,
): Statement {
  const { values, bind } = binder();
  const seen = visibleTo(visibility, bind);
  const search = params.search ?? "";
  const where = keys === undefined ? seen : `${seen} and (${foundBy(keys, search, bind)})`;
  const order = params.sort_order === "desc" ? "desc" : "asc";
  const sort = params.sort_by === "id" ? "" : `${sortColumns[params.sort_by]} ${order}, `;
  const text = `select total.total, p.* from (select count(*)::integer as total from patients p where ${where}) total
    left join lateral (select ${patientColumns} from patients p where ${where}
      order by ${sort}p.id ${order} limit ${bind(params.limit)} offset ${bind(offset)}) p on true`;
  // Unnamed, so that the plan fits the tenant: a generic plan may scan a large tenant's rows to count a small
  // one's.
  return { text, values };
}

function foundBy(keys: TenantKeys, search: string, bind: (value: unknown) => string): string {
  const from = bind(search);
  const until = bind(endOfPrefix(search));
  const name = bind(nameIndex(keys, search));
  // The digits of a text that is not a phone number must not match one.
  const phone = bind(phoneFault(search) === undefined ? phoneIndex(keys, search) : null);
  return `p.record_key >= lower(${from}) and p.record_key < lower(${until})
    or p.full_name_index = ${name} or p.phone_index = ${phone}`;
}

/**
 * Opens all rows. A row that does not open completely does not fail the list: its fields are null and listed
 * as unreadable.
 */
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
