// Reading one patient: from the cache when the database confirms that the cached value is current, otherwise
// from the database. A read that cannot be recorded is not answered.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { NotFound, Unavailable } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { openingKeys } from "../shared/sealing/ask-keys.ts";
import {
  openPatient,
  patientColumns,
  type OpenedTexts,
  type PatientRow,
  type PatientTexts,
  sealedIn,
  toPatient,
} from "./patient-row.ts";
import type { CacheKey } from "./cache-client.ts";
import type { Patient } from "./patients.contract.ts";
import { type Reading, RecordedReads } from "./recorded-read.ts";
import { dropOutdated, isCacheOff, readThroughCache, type CachedContent } from "./cached-reading.ts";
import { visibleTo, visibilityOf, type Visibility } from "./visibility.ts";
import type { RowOf } from "../shared/database/row.ts";

type OfPatient = Call<{ patient_id: number }>;

const partsOf = perRuntime(({ database }) => ({ reads: new RecordedReads(database) }));
/** After this many attempts a patient that changes continuously is read from the database. */
const attemptsMax = 3;

/** One patient. @throws NotFound, Unavailable `sealed_field_unreadable` */
export async function readPatient(call: OfPatient): Promise<Patient> {
  const visibility = visibilityOf(call);
  if (!isCacheOff(call)) {
    const cacheKey = {
      tenantId: visibility.tenantId,
      patientId: call.params.patient_id,
      part: "patient",
    } as const;
    const found = await readCached(
      call,
      visibility,
      cacheKey,
      () => loadPatient(call, cacheKey),
      "patient.read",
    );
    if (found !== undefined) return found;
  }
  return readUncached(call, visibility);
}

/**
 * Reads a value through the cache and records the read.
 * @param load as for `remember`
 * @param changesOf the facts about the content for the audit entry
 * @returns the current content, or undefined when it has to be read without the cache
 * @throws NotFound, alike for invisible, deleted and unknown patients
 */
export async function readCached<T>(
  call: Call<unknown>,
  visibility: Visibility,
  cacheKey: CacheKey,
  load: () => Promise<CachedContent<T> | undefined>,
  action: Reading["action"],
  changesOf?: (content: T) => AuditChanges,
): Promise<T | undefined> {
  for (let tries = 0; tries < attemptsMax; tries++) {
    const known = await readThroughCache(call, cacheKey, load);
    if (known === undefined) return undefined;
    const { stamp, content } = known;
    if (content === null) return undefined;
    const reading = {
      patientId: cacheKey.patientId,
      stamp,
      action,
      ...(changesOf && { changes: changesOf(content) }),
    };
    const verdict = await partsOf(call.runtime).reads.check(call.caller, visibility, reading);
    if (verdict === "fresh") return content;
    if (verdict === "unseen") throw new NotFound("Patient");
    dropOutdated(call, cacheKey, known);
  }
  return undefined;
}

/**
 * Loads a patient for the cache, regardless of who may see it. A patient that does not open completely is not
 * cached.
 */
export async function loadPatient(
  call: Call<unknown>,
  { tenantId, patientId }: CacheKey,
): Promise<CachedContent<Patient> | undefined> {
  const row = await call.db.readOne<PatientRow & RowOf<"patients", "stamp">>(
    { tenantId },
    {
      name: "patients.load",
      text: `select ${patientColumns}, p.stamp from patients p
        where p.tenant_id = $1 and p.id = $2 and p.deleted_at is null`,
      values: [tenantId, patientId],
    },
  );
  if (row === undefined) return undefined;
  const { texts, unreadable } = await openRow(call, row);
  return unreadable.length > 0
    ? undefined
    : { stamp: row.stamp, content: toPatient(row, wholeTexts(texts, unreadable)) };
}

async function readUncached(call: OfPatient, visibility: Visibility): Promise<Patient> {
  const row = await findPatient(call, visibility);
  const { texts, unreadable } = await openRow(call, row);
  const { tenantId } = visibility;
  const target = { type: "patient", id: row.id };
  if (unreadable.length > 0) {
    const changes = { code: "sealed_field_unreadable", fields: unreadable };
    await call.db.recordRead(call.caller, {
      tenantId,
      action: "patient.read",
      target,
      outcome: "error",
      changes,
    });
  }
  const patient = toPatient(row, wholeTexts(texts, unreadable));
  await call.db.recordRead(call.caller, { tenantId, action: "patient.read", target });
  return patient;
}

/** @throws NotFound, alike for invisible, deleted and unknown patients */
export async function findPatient(call: OfPatient, visibility: Visibility): Promise<PatientRow> {
  const { values, bind } = binder();
  const text = `select ${patientColumns} from patients p where ${visibleTo(visibility, bind)}
    and p.id = ${bind(call.params.patient_id)}`;
  const name = visibility.canSeeAllPatients ? "patients.get" : "patients.get_in_department";
  const row = await call.db.readOne<PatientRow>({ tenantId: visibility.tenantId }, { name, text, values });
  if (row === undefined) throw new NotFound("Patient");
  return row;
}

/** Opens the fields that open. The others are listed as unreadable and logged. */
export async function openRow(call: Call<unknown>, row: PatientRow): Promise<ReturnType<typeof openPatient>> {
  const keys = await openingKeys(call, row.tenant_id, sealedIn([row]));
  const opened = openPatient(keys, row);
  if (opened.unreadable.length > 0) {
    const facts = { tenantId: row.tenant_id, patientId: row.id, fields: opened.unreadable };
    call.runtime.log.error(facts, "sealed fields do not open");
  }
  return opened;
}

/**
 * @throws Unavailable `sealed_field_unreadable` when a field did not open, because an incomplete patient must
 * not look complete
 */
export function wholeTexts({ full_name, ...rest }: OpenedTexts, unreadable: readonly string[]): PatientTexts {
  if (unreadable.length > 0 || full_name === null) {
    throw new Unavailable("sealed_field_unreadable", "A sealed field of this patient cannot be opened");
  }
  return { full_name, ...rest };
}
