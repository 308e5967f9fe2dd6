// The stored tenant.
import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { Tenant as WireTenant } from "./tenants.contract.ts";

export const TenantEntity = defineEntity({
  name: "Tenant",
  tableName: "tenants",
  properties: {
    id: p.integer().primary().autoincrement(),
    name: p.text(),
    subdomain: p.text(),
    settings: p.json<Record<string, unknown>>(),
    isActive: p.boolean().fieldName("is_active").default(true),
    sessionEpoch: p.integer().fieldName("session_epoch").default(0),
    createdAt: p.datetime(3).fieldName("created_at").defaultRaw("now()"),
    updatedAt: p.datetime(3).fieldName("updated_at").defaultRaw("now()"),
    deletedAt: p.datetime(3).fieldName("deleted_at").nullable(),
  },
});

export type TenantRow = InferEntity<typeof TenantEntity>;

/** Converts a row to its JSON form. */
export function toTenant(row: TenantRow): WireTenant {
  return {
    id: row.id,
    name: row.name,
    subdomain: row.subdomain,
    settings: row.settings,
    is_active: row.isActive,
    created_at: row.createdAt.toISOString(),
  };
}
