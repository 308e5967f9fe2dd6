// The scene of the patients' parts: a clinic whose administrators may see all patients, on a database of its own.
import { addUsers, createTenants, type Tenant } from "./fill.ts";
import { addPatients } from "./fill-patients.ts";
import type { Scene } from "./stage.ts";

const users = 1_000;

export interface Clinic extends Tenant {
  patientIds: readonly number[];
}

/** @param options as for addPatients */
export async function addClinic(
  { owner, settings }: Scene,
  subdomain: string,
  patients: number,
  options: { inClear?: boolean } = {},
): Promise<Clinic> {
  const [tenant] = await createTenants(owner, [subdomain]);
  if (tenant === undefined) throw new Error("the tenant was not made");
  await addUsers(owner, [tenant], users);
  await owner.query("update users set can_see_all_patients = true where tenant_id = $1 and role = 'admin'", [
    tenant.id,
  ]);
  const patientIds = await addPatients(owner, settings.BOOT_SECRET ?? "", tenant.id, patients, options);
  return { ...tenant, patientIds };
}
