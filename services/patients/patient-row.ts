// Conversion of a patient between the stored, the sealed and the JSON form.
import { blindIndexesOf } from "./blind-indexes.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import type { SealedColumn } from "../shared/sealing/registry.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { toIso } from "../shared/wire.ts";
import type { ListedPatient, Patient } from "./patients.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

type Column = SealedColumn<"patients">;
type Field = NonNullable<ListedPatient["unreadable"]>[number];
export type PatientTexts = Pick<Patient, Field>;
/** A field that does not open is null. */
export type OpenedTexts = Pick<ListedPatient, Field>;

/** The fields in each sealed column. `identity` is one JSON text with all its fields, null for empty ones. */
const fieldsOf = {
  identity: ["full_name", "birth_date", "phone"],
  notes: ["notes"],
} as const satisfies Record<Column, readonly Field[]>;

type Identity = Pick<OpenedTexts, (typeof fieldsOf)["identity"][number]>;
const noIdentity: Identity = { full_name: null, birth_date: null, phone: null };

export type PatientRow = RowOf<
  "patients",
  | "id"
  | "tenant_id"
  | "department_id"
  | "record_number"
  | "identity"
  | "notes"
  | "version"
  | "created_at"
  | "updated_at"
>;

export const patientColumns = `p.id, p.tenant_id, p.department_id, p.record_number, p.identity, p.notes, p.version,
  p.created_at, p.updated_at`;

/** All ciphertexts of the rows, to find the keys that open them. */
export function sealedIn(rows: readonly PatientRow[]): Buffer[] {
  return rows.flatMap(({ identity, notes }) => (notes === null ? identity : [identity, notes]));
}

/** Opens a row. A column that does not open yields null, and its fields are listed as unreadable. */
export function openPatient(
  keys: TenantKeys,
  row: PatientRow,
): { texts: OpenedTexts; unreadable: readonly Field[] } {
  const unreadable: Field[] = [];
  const identity = openColumn(keys, row, "identity", unreadable);
  const notes = openColumn(keys, row, "notes", unreadable);
  // Only sealPatient() seals this column, so a text that opens has this type.
  const fields = identity === null ? noIdentity : (JSON.parse(identity) as Identity);
  return { texts: { ...fields, notes }, unreadable };
}

function openColumn(keys: TenantKeys, row: PatientRow, column: Column, unreadable: Field[]): string | null {
  const sealed = row[column];
  if (sealed === null) return null;
  try {
    return keys.open("patients", column, row.id, sealed);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    unreadable.push(...fieldsOf[column]);
    return null;
  }
}

/**
 * Seals the changed columns. Returns the values by column, with their blind indexes, as INSERT and UPDATE
 * take them.
 * @param texts all fields, including unchanged ones
 * @param changed a column is sealed again only when it contains one of these fields
 */
export function sealPatient(
  keys: TenantKeys,
  id: number,
  texts: PatientTexts,
  changed: Partial<PatientTexts> = texts,
): Record<string, Buffer | null> {
  const isChanged = (column: Column) => fieldsOf[column].some((field) => changed[field] !== undefined);
  const sealed = blindIndexesOf(keys, changed);
  if (isChanged("identity")) {
    const text = JSON.stringify(texts, [...fieldsOf.identity]);
    sealed["identity"] = keys.seal("patients", "identity", id, text);
  }
  if (isChanged("notes")) {
    sealed["notes"] = texts.notes === null ? null : keys.seal("patients", "notes", id, texts.notes);
  }
  return sealed;
}

/** Converts a row and its opened fields to its JSON form. */
export function toPatient(row: PatientRow, texts: PatientTexts): Patient {
  return { ...toListedPatient(row, texts, []), full_name: texts.full_name };
}

/** The same for a list, where fields may be unreadable. */
export function toListedPatient(
  row: PatientRow,
  texts: OpenedTexts,
  unreadable: readonly Field[],
): ListedPatient {
  const { id, tenant_id, department_id, record_number, version, created_at, updated_at } = row;
  return {
    id,
    tenant_id,
    department_id,
    record_number,
    full_name: texts.full_name,
    birth_date: texts.birth_date,
    phone: texts.phone,
    notes: texts.notes,
    version,
    created_at: toIso(created_at),
    updated_at: toIso(updated_at),
    ...(unreadable.length === 0 ? {} : { unreadable: [...unreadable] }),
  };
}
