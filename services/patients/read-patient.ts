// Reading one patient. What cannot be recorded is not told. From the cache when it has the patient and the database says
// that what it has is still so; from the database otherwise.
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
import type { Place } from "./cache-client.ts";
import type { Patient } from "./patients.contract.ts";
import { type Reading, RecordedReads } from "./recorded-read.ts";
import { forget, isCacheOff, remember, type Remembered } from "./cached-reading.ts";
import { visibleTo, visibilityOf, type Visibility } from "./visibility.ts";
import type { RowOf } from "../shared/database/row.ts";

type OfPatient = Call<{ patient_id: number }>;

const partsOf = perRuntime(({ database }) => ({ reads: new RecordedReads(database) }));
/** A patient that changes all the time is read from the database in the end. */
const triesMax = 3;

export async function readPatient(call: OfPatient): Promise<Patient> {
  const sight = visibilityOf(call);
  if (!isCacheOff(call)) {
    const place = { tenantId: sight.tenantId, patientId: call.params.patient_id, part: "patient" } as const;
    const found = await readRemembered(call, sight, place, () => loadPatient(call, place), "patient.read");
    if (found !== undefined) return found;
  }
  return readAnew(call, sight);
}

/**
 * @param load as `remember` takes it
 * @param changesOf what the audit entry says of the content
 * @returns what is so now, recorded; undefined when it has to be read without the cache
 * @throws NotFound alike for unseen, deleted and unknown patients
 */
export async function readRemembered<T>(
  call: Call<unknown>,
  sight: Visibility,
  place: Place,
  load: () => Promise<Remembered<T> | undefined>,
  action: Reading["action"],
  changesOf?: (content: T) => AuditChanges,
): Promise<T | undefined> {
  for (let tries = 0; tries < triesMax; tries++) {
    const known = await remember(call, place, load);
    if (known === undefined) return undefined;
    const { stamp, content } = known;
    if (content === null) return undefined;
    const reading = {
      patientId: place.patientId,
      stamp,
      action,
      ...(changesOf && { changes: changesOf(content) }),
    };
    const verdict = await partsOf(call.runtime).reads.ask(call.caller, sight, reading);
    if (verdict === "fresh") return content;
    if (verdict === "unseen") throw new NotFound("Patient");
    forget(call, place, known);
  }
  return undefined;
}

/** Whoever may see it. A patient that does not open whole is not remembered. */
export async function loadPatient(
  call: Call<unknown>,
  { tenantId, patientId }: Place,
): Promise<Remembered<Patient> | undefined> {
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

async function readAnew(call: OfPatient, sight: Visibility): Promise<Patient> {
  const row = await findPatient(call, sight);
  const { texts, unreadable } = await openRow(call, row);
  const { tenantId } = sight;
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

/** @throws NotFound alike for unseen, deleted and unknown patients */
export async function findPatient(call: OfPatient, sight: Visibility): Promise<PatientRow> {
  const { values, bind } = binder();
  const text = `select ${patientColumns} from patients p where ${visibleTo(sight, bind)}
    and p.id = ${bind(call.params.patient_id)}`;
  const name = sight.canSeeAllPatients ? "patients.get" : "patients.get_in_department";
  const row = await call.db.readOne<PatientRow>({ tenantId: sight.tenantId }, { name, text, values });
  if (row === undefined) throw new NotFound("Patient");
  return row;
}

/** Opens what opens; the rest is named, and in the log. */
export async function openRow(call: Call<unknown>, row: PatientRow): Promise<ReturnType<typeof openPatient>> {
  const keys = await openingKeys(call, row.tenant_id, sealedIn([row]));
  const opened = openPatient(keys, row);
  if (opened.unreadable.length > 0) {
    const facts = { tenantId: row.tenant_id, patientId: row.id, fields: opened.unreadable };
    call.runtime.log.error(facts, "sealed fields do not open");
  }
  return opened;
}

/** @throws Unavailable when a field did not open: half a patient is not told as if it were a whole one */
export function wholeTexts({ full_name, ...rest }: OpenedTexts, unreadable: readonly string[]): PatientTexts {
  if (unreadable.length > 0 || full_name === null) {
    throw new Unavailable("sealed_field_unreadable", "A sealed field of this patient cannot be opened");
  }
  return { full_name, ...rest };
}
