// The one statement behind every answer that comes from the cache. It asks the database, after the request has begun,
// whether the caller sees the patient and whether the value's stamp is still the present one, and writes the audit entry
// of the reading if both hold. That is why no outdated value can be told, whatever the cache's nodes do: the cache
// remembers, the database says whether the memory is true. It costs nothing extra, as a reading has to be recorded anyway.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { Caller } from "../shared/caller.ts";
import { appendEntries, entryArrays, type EntryValues, entryValues } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { TenantBatches } from "../shared/tenant-batches.ts";
import type { Visibility } from "./visibility.ts";

export type Verdict =
  /** The value is what a reading now would give; the reading is recorded. */
  | "fresh"
  /** The patient has changed since; nothing is recorded yet. */
  | "changed"
  /** There is no such patient for this caller. */
  | "unseen";

export interface Reading {
  patientId: number;
  stamp: string;
  action: "patient.read" | "record.list";
  changes?: AuditChanges;
}

interface Asked {
  patientId: number;
  stamp: string;
  sight: Visibility;
  entry: EntryValues;
}

/** The subquery keeps the planner at one index look-up for each question, whatever it expects of the tenant's size. */
const text = `with seen as materialized (
    select place::integer, now_there.stamp = a.stamp as fresh
    from unnest($2::integer[], $3::uuid[], $4::integer[], $5::boolean[]) with ordinality
      as a (patient_id, stamp, department_id, sees_all, place)
    cross join lateral (
      select p.stamp from patients p where p.tenant_id = $1 and p.id = a.patient_id and p.deleted_at is null
        and (a.sees_all or p.department_id = a.department_id) limit 1) now_there
  ), fresh as (
    select coalesce(array_agg(place order by place), '{}') as places from seen where fresh
  ), noted as materialized (
    select ${appendEntries(6, "places")} from fresh
  ) select place, fresh from seen, noted`;

export class RecordedReads {
  readonly #batches: TenantBatches<Asked, Verdict>;

  constructor(database: Database) {
    this.#batches = new TenantBatches((tenantId, asked) => ask(database, tenantId, asked));
  }

  /** Resolves when the entry, if there is one, is committed. */
  ask(caller: Caller, sight: Visibility, { patientId, stamp, action, changes }: Reading): Promise<Verdict> {
    const target = { type: "patient", id: patientId };
    const facts = { tenantId: sight.tenantId, action, target, ...(changes && { changes }) };
    const entry = entryValues(facts, caller);
    return this.#batches.add(sight.tenantId, { patientId, stamp, sight, entry });
  }
}

async function ask(database: Database, tenantId: number, asked: readonly Asked[]): Promise<Verdict[]> {
  const rows = await database.write<{ place: number; fresh: boolean }>(
    { tenantId },
    Caller.system("patients"),
    {
      name: "patients.recorded_read",
      text,
      values: [
        tenantId,
        asked.map(({ patientId }) => patientId),
        asked.map(({ stamp }) => stamp),
        asked.map(({ sight }) => sight.departmentId),
        asked.map(({ sight }) => sight.canSeeAllPatients),
        ...entryArrays(asked.map(({ entry }) => entry)),
      ],
    },
  );
  const found = new Map(rows.map(({ place, fresh }) => [place, fresh]));
  return asked.map((_, at) => {
    const fresh = found.get(at + 1);
    return fresh === undefined ? "unseen" : fresh ? "fresh" : "changed";
  });
}
