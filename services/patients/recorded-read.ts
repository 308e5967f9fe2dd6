// The statement behind every answer from the cache. It asks the database, after the request has begun,
// whether the caller may see the patient and whether the value's stamp is current, and writes the audit entry
// of the read if both hold. So an outdated value is never returned, whatever the nodes of the cache do. The
// statement costs nothing extra, because each read must be recorded anyway.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { Caller } from "../shared/caller.ts";
import { appendEntries, entryArrays, type EntryValues, entryValues } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { TenantBatches } from "../shared/tenant-batches.ts";
import type { Visibility } from "./visibility.ts";

export type Verdict =
  /** The value is current, and the read is recorded. */
  | "fresh"
  /** The patient was changed since; nothing is recorded. */
  | "changed"
  /** The patient does not exist for this caller. */
  | "unseen";

/** A read of a cached value. */
export interface Reading {
  patientId: number;
  stamp: string;
  action: "patient.read" | "record.list";
  changes?: AuditChanges;
}

interface PendingRead {
  patientId: number;
  stamp: string;
  visibility: Visibility;
  entry: EntryValues;
}

/**
 * The subquery with `limit 1` makes the planner use one index look-up per request, whatever size it expects.
 */
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

/** Batches the checks per tenant. */
export class RecordedReads {
  readonly #batches: TenantBatches<PendingRead, Verdict>;

  constructor(database: Database) {
    this.#batches = new TenantBatches((tenantId, asked) => checkBatch(database, tenantId, asked));
  }

  /** Resolves when the audit entry, if there is one, is committed. */
  check(
    caller: Caller,
    visibility: Visibility,
    { patientId, stamp, action, changes }: Reading,
  ): Promise<Verdict> {
    const target = { type: "patient", id: patientId };
    const facts = { tenantId: visibility.tenantId, action, target, ...(changes && { changes }) };
    const entry = entryValues(facts, caller);
    return this.#batches.add(visibility.tenantId, { patientId, stamp, visibility, entry });
  }
}

async function checkBatch(
  database: Database,
  tenantId: number,
  asked: readonly PendingRead[],
): Promise<Verdict[]> {
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
        asked.map(({ visibility }) => visibility.departmentId),
        asked.map(({ visibility }) => visibility.canSeeAllPatients),
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
