// The stored department.
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { Department as WireDepartment } from "./departments.contract.ts";

export const DepartmentEntity = defineEntity({
  name: "Department",
  tableName: "departments",
  properties: {
    id: p.integer().primary().autoincrement(),
    tenantId: p.integer().fieldName("tenant_id"),
    name: p.text(),
    headDoctorId: p.integer().fieldName("head_doctor_id").nullable(),
    createdAt: p.datetime(3).fieldName("created_at").defaultRaw("now()"),
    updatedAt: p.datetime(3).fieldName("updated_at").defaultRaw("now()"),
  },
});

export type DepartmentRow = InferEntity<typeof DepartmentEntity>;

/** Converts a row to its JSON form. */
export function toDepartment(row: DepartmentRow): WireDepartment {
  return {
    id: row.id,
    tenant_id: row.tenantId,
    name: row.name,
    head_doctor_id: row.headDoctorId ?? null,
    created_at: row.createdAt.toISOString(),
  };
}
