// Departments of a tenant.
// Life cycle: created → renamed, given a head doctor → deleted when no user or patient belongs to it.
// Promises: a head doctor is an active user of the role head doctor or doctor in the same tenant. The
// database refuses users of another tenant, both as head and as member.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { implement } from "../shared/bus/bus.ts";
import { DepartmentEntity } from "./department.entity.ts";
import { departmentsContract } from "./departments.contract.ts";
import { createDepartment, removeDepartment, updateDepartment } from "./change-departments.ts";
import { listDepartments, listPublicDepartments } from "./list-departments.ts";

const departments: ServiceSchema = {
  name: "departments",
  mixins: [database([DepartmentEntity])],
  actions: implement(departmentsContract, {
    "departments.list": listDepartments,
    "departments.create": createDepartment,
    "departments.update": updateDepartment,
    "departments.remove": removeDepartment,
    "departments.list_public": listPublicDepartments,
  }),
};

export default departments;
