// Patients and their records.
// Life cycle: created → changed, version by version → deleted (hidden at once) → purged with all records
// after the retention, or restored by an operator until then. A record is written once.
// Promises: names, birth dates, phone numbers, notes and records are stored only in sealed form, and appear
// in no log, event, audit entry, job or error. Of two changes to one version one succeeds. Every read is in
// the audit log before it is answered. A patient that the caller may not see gets the same answer as one that
// does not exist.
// Does not store keys (crypto).
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { implement } from "../shared/bus/bus.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { cacheDiffers } from "./cache-faults.ts";
import { updatePatient } from "./change-patient.ts";
import { createPatient } from "./create-patient.ts";
import { removePatient } from "./remove-patient.ts";
import { listPatients } from "./list-patients.ts";
import { createRecord, listRecords } from "./patient-records.ts";
import { patientsContract } from "./patients.contract.ts";
import { purgeDeletedPatients } from "./purge-patients.ts";
import { readPatient } from "./read-patient.ts";
import { deletedItems, type DeletedRow, deletedScope, deletedTail } from "../shared/deleted.ts";
import { restorePatient } from "./restore-patient.ts";
import { sealForCache } from "./seal-for-cache.ts";
import { overdueRows, purgedAfter } from "../../mixins/healing/overdue-rows.ts";

const patients: ServiceSchema = {
  name: "patients",
  mixins: [
    database(),
    jobs({
      tasks: { "patients.purge": purgeDeletedPatients },
      schedules: { "patients.purge": "37 2 * * *" },
    }),
    detectors("patients", {
      ...jobFaults("patients"),
      cache_differs: cacheDiffers,
      purge_overdue: overdueRows("patients", "patients.purge", [
        {
          what: "patients",
          rows: "from patients where deleted_at < now() - make_interval(days => $1)",
          days: purgedAfter,
        },
      ]),
    }),
  ],
  actions: implement(patientsContract, {
    "patients.list": listPatients,
    "patients.create": createPatient,
    "patients.get": readPatient,
    "patients.update": updatePatient,
    "patients.remove": removePatient,
    "patients.list_deleted": async (call) =>
      deletedItems(
        await call.db.read<DeletedRow<(typeof patientsContract)["patients.list_deleted"]>>(
          deletedScope(call),
          {
            text: `select id, tenant_id, department_id, record_number, deleted_at from patients ${deletedTail}`,
            values: [],
          },
        ),
      ),
    "patients.restore": restorePatient,
    "patients.list_records": listRecords,
    "patients.create_record": createRecord,
    "patients.seal_for_cache": sealForCache,
  }),
};

export default patients;
