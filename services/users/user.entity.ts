// The stored user. The generated search column is maintained by the database and not mapped.
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { roles } from "../shared/roles.ts";
import type { User as WireUser } from "./users.contract.ts";

export const UserEntity = defineEntity({
  name: "User",
  tableName: "users",
  properties: {
    id: p.integer().primary().autoincrement(),
    tenantId: p.integer().fieldName("tenant_id"),
    departmentId: p.integer().fieldName("department_id").nullable(),
    email: p.text(),
    fullName: p.text().fieldName("full_name"),
    role: p.enum(roles),
    canSeeAllPatients: p.boolean().fieldName("can_see_all_patients").default(false),
    isActive: p.boolean().fieldName("is_active").default(true),
    approvedAt: p.datetime(3).fieldName("approved_at").nullable(),
    emailVerified: p.boolean().fieldName("email_verified").default(false),
    passwordHash: p.text().fieldName("password_hash").lazy(),
    sessionEpoch: p.integer().fieldName("session_epoch").default(0),
    createdAt: p.datetime(3).fieldName("created_at").defaultRaw("now()"),
    updatedAt: p.datetime(3).fieldName("updated_at").defaultRaw("now()"),
    deletedAt: p.datetime(3).fieldName("deleted_at").nullable(),
  },
});

export type UserRow = InferEntity<typeof UserEntity>;

/** Converts a row to its JSON form. */
export function toUser(row: UserRow): WireUser {
  return {
    id: row.id,
    email: row.email,
    full_name: row.fullName,
    role: row.role,
    tenant_id: row.tenantId,
    department_id: row.departmentId ?? null,
    can_see_all_patients: row.canSeeAllPatients,
    is_active: row.isActive,
    email_verified: row.emailVerified,
    created_at: row.createdAt.toISOString(),
  };
}
