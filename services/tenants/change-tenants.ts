// Creating, changing, deleting and restoring tenants.
import { LockMode } from "@mikro-orm/core";
import { roleOf } from "../shared/access.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { changedAt } from "../shared/database/clock.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Forbidden, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { ownTenant, administeredScope } from "../shared/administered-scope.ts";
import { TenantEntity, type TenantRow, toTenant } from "./tenant.entity.ts";
import type { Tenant, tenantsContract } from "./tenants.contract.ts";
import { loggedSettings, platformSubdomain } from "./tenants.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

const violations = {
  tenants_subdomain: () => new Conflict("subdomain_taken", "This subdomain is already in use"),
};
const now = () => new Date();
const targetOf = (tenant: TenantRow) => ({ type: "tenant", id: tenant.id });

async function insertTenant(
  change: Change,
  fields: { name: string; subdomain: string; settings: Record<string, unknown> },
): Promise<TenantRow> {
  const tenant = change.entities.create(TenantEntity, fields);
  await change.entities.flush();
  change.audit({
    tenantId: tenant.id,
    action: "tenant.create",
    target: targetOf(tenant),
    changes: {
      name: tenant.name,
      subdomain: tenant.subdomain,
      is_active: tenant.isActive,
      ...loggedSettings(tenant.settings),
    },
  });
  return tenant;
}

/**
 * @throws Conflict `subdomain_taken`, or `single_tenant` when the service runs in single mode and has its
 * tenant
 */
export async function createTenant(
  call: Call<ParamsOf<(typeof tenantsContract)["tenants.create"]>>,
): Promise<Tenant> {
  const { name, settings } = call.params;
  const subdomain = call.params.subdomain.toLowerCase();
  const insert = call.db.change(platform, call.caller, async (change) => {
    if (call.runtime.config.tenantMode === "single") await assertNoTenantYet(change);
    return insertTenant(change, { name, subdomain, settings });
  });
  return toTenant(await mapViolations(violations, insert));
}

/**
 * The lock on the platform tenant's row serialises concurrent creations in single mode, so that only one
 * succeeds.
 */
async function assertNoTenantYet(change: Change): Promise<void> {
  await change.execute("select id from tenants where subdomain = $1 for no key update", [platformSubdomain]);
  const [other] = await change.execute<RowOf<"tenants", "id">>(
    "select id from tenants where subdomain <> $1 and deleted_at is null limit 1",
    [platformSubdomain],
  );
  if (other !== undefined) throw new Conflict("single_tenant", "This installation serves one tenant only");
}

async function lockTenant(call: Call<{ tenant_id: number }>, change: Change): Promise<TenantRow> {
  const where = { id: call.params.tenant_id, deletedAt: null };
  const tenant = await change.entities.findOne(TenantEntity, where, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (tenant === null) throw new NotFound("Tenant");
  return tenant;
}

/**
 * Changes name, settings or state. Deactivating ends every session of the tenant.
 * @throws NotFound, Forbidden `superadmin_only`, Conflict `platform_tenant`
 */
export async function updateTenant(
  call: Call<ParamsOf<(typeof tenantsContract)["tenants.update"]>>,
): Promise<Tenant> {
  const { name, settings, is_active: isActive } = call.params;
  const own = ownTenant(call.caller);
  if (roleOf(call.caller) !== "superadmin") {
    if (call.params.tenant_id !== own) throw new NotFound("Tenant");
    if (isActive !== undefined)
      throw new Forbidden("superadmin_only", "Only a superadmin activates or deactivates a tenant");
  }
  const tenant = await call.db.change(administeredScope(call.caller), call.caller, async (change) => {
    const held = await lockTenant(call, change);
    const fields = applyUpdate(held, { name, settings, isActive });
    if (fields.length === 0) return held;
    change.audit({
      tenantId: held.id,
      action: "tenant.update",
      target: targetOf(held),
      changes: {
        fields,
        ...(isActive === undefined ? {} : { is_active: isActive }),
        ...(settings === undefined ? {} : loggedSettings(settings)),
      },
    });
    change.publishEvent({
      tenantId: held.id,
      kind: "tenant.updated",
      payload: { tenant_id: held.id, fields },
    });
    return held;
  });
  return toTenant(tenant);
}

function applyUpdate(
  tenant: TenantRow,
  change: {
    name: string | undefined;
    settings: Record<string, unknown> | undefined;
    isActive: boolean | undefined;
  },
): string[] {
  const fields: string[] = [];
  if (change.name !== undefined && change.name !== tenant.name) {
    tenant.name = change.name;
    fields.push("name");
  }
  if (change.settings !== undefined) {
    tenant.settings = change.settings;
    fields.push("settings");
  }
  if (change.isActive !== undefined && change.isActive !== tenant.isActive) {
    if (tenant.subdomain === platformSubdomain)
      throw new Conflict("platform_tenant", "The platform stays active");
    tenant.isActive = change.isActive;
    // Raises the epoch, so that sessions from before the deactivation stay revoked after a reactivation.
    if (!change.isActive) tenant.sessionEpoch += 1;
    fields.push("is_active");
  }
  if (fields.length > 0) tenant.updatedAt = now();
  return fields;
}

/** Marks a tenant as deleted and ends every session in it. @throws NotFound, Conflict `platform_tenant` */
export async function removeTenant(call: Call<{ tenant_id: number }>): Promise<void> {
  await call.db.change(platform, call.caller, async (change) => {
    const held = await lockTenant(call, change);
    if (held.subdomain === platformSubdomain)
      throw new Conflict("platform_tenant", "The platform cannot be deleted");
    held.deletedAt = await changedAt(change);
    held.sessionEpoch += 1;
    change.audit({ tenantId: held.id, action: "tenant.delete", target: targetOf(held) });
  });
}

/**
 * Restores a deleted tenant. Only operators can call it: there is no route.
 * @throws Forbidden, NotFound, Conflict `not_deleted`, or `subdomain_taken` when another tenant uses the
 * subdomain now
 */
export async function restoreTenant(call: Call<{ tenant_id: number }>): Promise<Tenant> {
  if (ownTenant(call.caller) !== undefined) throw new Forbidden();
  const restore = call.db.change(platform, call.caller, async (change) => {
    const id = call.params.tenant_id;
    const tenant = await change.entities.findOne(
      TenantEntity,
      { id },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (tenant === null) throw new NotFound("Tenant");
    if (tenant.deletedAt === null) throw new Conflict("not_deleted", "This tenant is not deleted");
    tenant.deletedAt = null;
    tenant.updatedAt = now();
    change.audit({ tenantId: id, action: "tenant.restore", target: targetOf(tenant) });
    change.publishEvent({ tenantId: id, kind: "tenant.updated", payload: { tenant_id: id, restored: true } });
    return tenant;
  });
  return toTenant(await mapViolations(violations, restore));
}

/** Creates a tenant at start unless its subdomain exists. Idempotent. */
export async function bootstrapTenant(
  call: Call<ParamsOf<(typeof tenantsContract)["tenants.bootstrap"]>>,
): Promise<{ id: number; created: boolean }> {
  const { name, subdomain, settings } = call.params;
  return call.db.change(platform, call.caller, async (change) => {
    // Serialises replicas that start at the same time.
    await change.execute("select pg_advisory_xact_lock(hashtext('tenants.bootstrap'))");
    const [found] = await change.execute<RowOf<"tenants", "id">>(
      "select id from tenants where subdomain = $1 and deleted_at is null",
      [subdomain],
    );
    if (found !== undefined) return { id: found.id, created: false };
    const tenant = await insertTenant(change, { name, subdomain, settings });
    return { id: tenant.id, created: true };
  });
}
