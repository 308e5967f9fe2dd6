// The plan of a restore as one statement: the number of rows to add, change and remove, per table.
import {
  addedSince,
  back,
  changed,
  departmentDiffers,
  headOf,
  inArchive,
  isThere,
  patientDiffers,
  patientIsThere,
  preferenceDiffers,
  recordDiffers,
  recordsSince,
  staged,
  tenantDiffers,
  userDiffers,
  userIsThere,
  willBeBack,
} from "./restore-conditions.ts";

const count = (from: string) => `(select count(*)::integer from ${from})`;
const none = "0";

/** Changes nothing. $1 and $2 as in restore-conditions.ts. */
export const planText = [
  [
    "tenants",
    none,
    count(`tenants c join ${staged("tenants")} on s.id = c.id where c.id = $2 and ${tenantDiffers}`),
    none,
  ],
  [
    "departments",
    count(`${staged("departments")} where not ${isThere("departments")}`),
    count(`departments c join ${staged("departments")} on s.id = c.id where c.tenant_id = $2
      and (${departmentDiffers} or c.head_doctor_id is distinct from ${headOf(willBeBack)})`),
    count(`departments c where c.tenant_id = $2 and not ${inArchive("departments")}`),
  ],
  ["users", count(back("users")), count(changed("users", userDiffers)), count(addedSince("users"))],
  [
    "preferences",
    count(`${staged("preferences")} where not ${isThere("preferences", "user_id")} and ${userIsThere}`),
    count(
      `preferences c join ${staged("preferences")} on s.user_id = c.user_id where c.tenant_id = $2 and ${preferenceDiffers}`,
    ),
    count(`preferences c where c.tenant_id = $2 and not ${inArchive("preferences", "user_id")}`),
  ],
  [
    "patients",
    count(back("patients")),
    count(changed("patients", patientDiffers)),
    count(addedSince("patients")),
  ],
  [
    "patient_records",
    count(`${staged("patient_records")} where not ${isThere("patient_records")} and ${patientIsThere}`),
    count(
      `patient_records c join ${staged("patient_records")} on s.id = c.id where c.tenant_id = $2 and ${recordDiffers}`,
    ),
    count(recordsSince),
  ],
]
  .map(
    ([table, add, change, remove]) =>
      `select '${table}' as "table", ${add} as add, ${change} as change, ${remove} as remove`,
  )
  .join("\nunion all\n");
