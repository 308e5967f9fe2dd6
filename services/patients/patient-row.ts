// A patient as stored, sealed, and on the wire.
import { blindIndexesOf } from "./blind-indexes.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import { type SealedColumn, sealedTables } from "../shared/sealing/registry.ts";
import type { TenantKeys } from "../shared/sealing/tenant-keys.ts";
import { toIso } from "../shared/wire.ts";
import type { ListedPatient, Patient } from "./patients.contract.ts";

type Column = SealedColumn<"patients">;
export type PatientTexts = { full_name: string } & Record<Exclude<Column, "full_name">, string | null>;

export interface PatientRow extends Record<Column, Buffer | null> {
  id: number;
  tenant_id: number;
  department_id: number | null;
  record_number: string;
  version: number;
  created_at: string;
  updated_at: string;
}

export const patientColumns = `p.id, p.tenant_id, p.department_id, p.record_number, p.full_name, p.birth_date, p.phone,
  p.notes, p.version, p.created_at, p.updated_at`;

export function sealedIn(rows: readonly PatientRow[]): Buffer[] {
  return rows.flatMap((row) => sealedTables.patients.columns.flatMap((column) => row[column] ?? []));
}

/** Also of a row that does not open whole: what does not is null, and named. */
export function openPatient(
  keys: TenantKeys,
  row: PatientRow,
): { texts: Record<Column, string | null>; unreadable: Column[] } {
  const texts: Record<Column, string | null> = {
    full_name: null,
    birth_date: null,
    phone: null,
    notes: null,
  };
  const unreadable: Column[] = [];
  for (const column of sealedTables.patients.columns) {
    const sealed = row[column];
    if (sealed === null) continue;
    try {
      texts[column] = keys.open("patients", column, row.id, sealed);
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      unreadable.push(column);
    }
  }
  return { texts, unreadable };
}

/** Values by column, as INSERT and UPDATE take them, with the blind indexes that belong to them. */
export function sealPatient(
  keys: TenantKeys,
  id: number,
  texts: Partial<PatientTexts>,
): Record<string, Buffer | null> {
  const sealed: Record<string, Buffer | null> = {};
  for (const column of sealedTables.patients.columns) {
    const text = texts[column];
    if (text !== undefined) sealed[column] = text === null ? null : keys.seal("patients", column, id, text);
  }
  return { ...sealed, ...blindIndexesOf(keys, texts) };
}

export function toPatient(row: PatientRow, texts: PatientTexts): Patient {
  return { ...toListedPatient(row, texts, []), full_name: texts.full_name };
}

export function toListedPatient(
  row: PatientRow,
  texts: Record<Column, string | null>,
  unreadable: readonly Column[],
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
