// Departments of a tenant and their head doctors.
import { allow, anyone } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { id, integer, listOf, pathId, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { ofTenant, pageOf, paging, searching, sorting } from "../shared/wire.ts";

export const departmentSorts = ["id", "name", "created_at"] as const;

const departmentShape = object(
  {
    id: integer(),
    tenant_id: integer(),
    name: text(),
    head_doctor_id: nullable(integer()),
    created_at: timestamp(),
  },
  { name: "Department" },
);
export type Department = ValueOf<typeof departmentShape>;

const name = text({ min: 1, max: 200, trim: true });
const headDoctor = optional(nullable(id()));
const administrators = allow("superadmin", "admin");

export const departmentsContract = {
  "departments.list": {
    summary: "Lists departments, page by page.",
    audits: "department.list",
    access: allow("superadmin", "admin", "head_doctor"),
    repeatable: true,
    weight: weights.list,
    query: {
      ...ofTenant,
      ...paging,
      ...searching,
      ...sorting(departmentSorts, "id", "asc"),
    },
    result: pageOf("DepartmentPage", departmentShape),
  },
  "departments.create": {
    summary: "Creates a department.",
    audits: "department.create",
    access: administrators,
    refuses: { 409: ["too_many_departments"] },
    example: { name: "Radiology" },
    body: { name, head_doctor_id: headDoctor, tenant_id: optional(nullable(id())) },
    result: departmentShape,
  },
  "departments.update": {
    summary: "Renames a department or changes its head doctor.",
    audits: "department.update",
    access: administrators,
    path: { dept_id: pathId({ description: "The department's id.", example: 1 }) },
    body: { name: optional(name), head_doctor_id: headDoctor },
    example: { name: "Radiology and ultrasound" },
    result: departmentShape,
  },
  "departments.remove": {
    summary: "Deletes a department that nobody is in.",
    audits: "department.delete",
    access: administrators,
    refuses: { 409: ["department_in_use"] },
    path: { dept_id: pathId({ description: "The department's id.", example: 1 }) },
  },
  "departments.list_public": {
    summary: "The departments of a tenant, for choosing one when registering.",
    audits: "department.list_public",
    access: anyone,
    repeatable: true,
    refuses: { 404: ["not_found"] },
    query: { subdomain: text({ max: 200, trim: true, description: "The tenant's.", example: "demo" }) },
    result: listOf(object({ id: integer(), name: text() }, { name: "PublicDepartment" })),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof departmentsContract> {}
}
