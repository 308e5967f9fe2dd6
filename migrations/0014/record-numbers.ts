// A record number is unique where it is seen: in its department. Unique in the whole tenant, it told everybody who creates a
// patient whether another department, whose patients they may not see, has the number. Patients of no department are
// one group of their own. The index keeps its name, so a version of the program from before says 409 as well.
// The second index serves whoever sees all patients: the numbers of the whole tenant in their order, and their beginnings.
export const recordNumbers = `
drop index patients_record_number;
create unique index patients_record_number on patients (tenant_id, department_id, record_key)
  nulls not distinct where deleted_at is null;
create index patients_record_key on patients (tenant_id, record_key, id) where deleted_at is null;
`;
