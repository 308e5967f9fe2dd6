// Departments of a tenant.
// Life cycle: created → renamed, given a head doctor → deleted when nobody is in them any more.
// Promises: a head doctor is an active head doctor or doctor of the same tenant (the database refuses another tenant's
// user too); users cannot be put into another tenant's department.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { implement } from "../shared/bus/bus.ts";
import { DepartmentEntity } from "./department.entity.ts";
import { departmentsContract } from "./departments.contract.ts";
import { createDepartment, removeDepartment, updateDepartment } from "./keep-departments.ts";
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
