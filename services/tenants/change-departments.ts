// Creating, changing and deleting departments.
import { LockMode } from "@mikro-orm/core";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { Conflict, Invalid, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { administeredScope, tenantToActIn } from "../shared/administered-scope.ts";
import { DepartmentEntity, type DepartmentRow, toDepartment } from "./department.entity.ts";
import type { Department, departmentsContract } from "./departments.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

const violations = {
  departments_tenant_id_fkey: () => Invalid.body("tenant_id", "the tenant does not exist"),
  departments_tenant_id_head_doctor_id_fkey: () =>
    Invalid.body("head_doctor_id", "the head doctor does not exist"),
};
/** Far more than any clinic has. The bound matters because the list of departments is public. */
const departmentsMax = 2_000;
const targetOf = (department: DepartmentRow) => ({ type: "department", id: department.id });

/**
 * Checks that the user may head a department. Locks the user's row for share, so that the doctor cannot be
 * demoted or deleted meanwhile.
 * @throws Invalid
 */
async function assertMayHead(
  change: Change,
  tenantId: number,
  userId: number | null | undefined,
): Promise<void> {
  if (userId === null || userId === undefined) return;
  const [doctor] = await change.execute<RowOf<"users", "id">>(
    `select id from users where tenant_id = $1 and id = $2 and is_active and deleted_at is null
       and role in ('head_doctor', 'doctor') for share`,
    [tenantId, userId],
  );
  if (doctor === undefined) {
    throw Invalid.body("head_doctor_id", "the head doctor has to be an active doctor of the same tenant");
  }
}

async function assertBelowMaximum(change: Change, tenantId: number): Promise<void> {
  const counted = await change.one<{ departments: number }>(
    "select count(*)::integer as departments from departments where tenant_id = $1",
    [tenantId],
  );
  if (counted.departments >= departmentsMax)
    throw new Conflict("too_many_departments", `A tenant has at most ${departmentsMax} departments`);
}

/** @throws Invalid, Conflict `too_many_departments` */
export async function createDepartment(
  call: Call<ParamsOf<(typeof departmentsContract)["departments.create"]>>,
): Promise<Department> {
  const { name, head_doctor_id: headDoctorId = null } = call.params;
  const tenantId = tenantToActIn(call.caller, call.params.tenant_id);
  if (tenantId === undefined) throw Invalid.body("tenant_id", "an operator has to name the tenant");
  const insert = call.db.change({ tenantId }, call.caller, async (change) => {
    // The lock on the tenant's row serialises concurrent creations, so that each sees the other in the count.
    const [tenant] = await change.execute(
      "select id from tenants where id = $1 and deleted_at is null for no key update",
      [tenantId],
    );
    if (tenant === undefined) throw violations.departments_tenant_id_fkey();
    await assertBelowMaximum(change, tenantId);
    await assertMayHead(change, tenantId, headDoctorId);
    const department = change.entities.create(DepartmentEntity, { tenantId, name, headDoctorId });
    await change.entities.flush();
    const changes = { name, head_doctor_id: headDoctorId };
    change.audit({ tenantId, action: "department.create", target: targetOf(department), changes });
    change.publishEvent({ tenantId, kind: "department.created", payload: { department_id: department.id } });
    return department;
  });
  return toDepartment(await mapViolations(violations, insert));
}

async function lockDepartment(call: Call<{ dept_id: number }>, change: Change): Promise<DepartmentRow> {
  const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
  const department = await change.entities.findOne(DepartmentEntity, { id: call.params.dept_id }, lock);
  if (department === null) throw new NotFound("Department");
  const [tenant] = await change.execute("select id from tenants where id = $1 and deleted_at is null", [
    department.tenantId,
  ]);
  if (tenant === undefined) throw new NotFound("Department");
  return department;
}

/** @throws NotFound, Invalid when the head doctor may not head a department */
export async function updateDepartment(
  call: Call<ParamsOf<(typeof departmentsContract)["departments.update"]>>,
): Promise<Department> {
  const { name, head_doctor_id: headDoctorId } = call.params;
  const update = call.db.change(administeredScope(call.caller), call.caller, async (change) => {
    const department = await lockDepartment(call, change);
    const { tenantId } = department;
    await assertMayHead(change, tenantId, headDoctorId);
    const changes: { name?: string; head_doctor_id?: number | null } = {};
    if (name !== undefined && name !== department.name) changes.name = department.name = name;
    if (headDoctorId !== undefined && headDoctorId !== department.headDoctorId) {
      changes.head_doctor_id = department.headDoctorId = headDoctorId;
    }
    const fields = Object.keys(changes);
    if (fields.length === 0) return department;
    department.updatedAt = new Date();
    change.audit({ tenantId, action: "department.update", target: targetOf(department), changes });
    change.publishEvent({
      tenantId,
      kind: "department.updated",
      payload: { department_id: department.id, fields },
    });
    return department;
  });
  return toDepartment(await mapViolations(violations, update));
}

async function assertEmpty(change: Change, tenantId: number, id: number): Promise<void> {
  const inside = "where tenant_id = $1 and department_id = $2 and deleted_at is null";
  const [counted] = await change.execute<{ users: number; patients: number }>(
    `select (select count(*)::integer from users ${inside}) as users,
       (select count(*)::integer from patients ${inside}) as patients`,
    [tenantId, id],
  );
  const { users = 0, patients = 0 } = counted ?? {};
  if (users + patients === 0) return;
  const [userWord, patientWord] = [users === 1 ? "user" : "users", patients === 1 ? "patient" : "patients"];
  throw new Conflict(
    "department_in_use",
    `The department still has ${users} ${userWord} and ${patients} ${patientWord}`,
  );
}

/** @throws NotFound, Conflict `department_in_use` */
export async function removeDepartment(call: Call<{ dept_id: number }>): Promise<void> {
  await call.db.change(administeredScope(call.caller), call.caller, async (change) => {
    const department = await lockDepartment(call, change);
    const { id, tenantId, name } = department;
    await assertEmpty(change, tenantId, id);
    change.entities.remove(department);
    change.audit({ tenantId, action: "department.delete", target: targetOf(department), changes: { name } });
    change.publishEvent({ tenantId, kind: "department.deleted", payload: { department_id: id } });
  });
}
