// Changing tenants.
import { LockMode } from "@mikro-orm/core";
import { roleOf } from "../shared/access.ts";
import type { Call } from "../shared/bus/bus.ts";
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import { changedAt } from "../shared/database/clock.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Forbidden, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { ownTenant, administeredScope } from "../shared/administered-scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { TenantEntity, type TenantRow, toTenant } from "./tenant.entity.ts";
import type { Tenant, tenantsContract } from "./tenants.contract.ts";
import { loggedSettings, platformSubdomain } from "./tenants.rules.ts";

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

/** The platform's row lock makes two creations in single mode see one another. */
async function assertNoTenantYet(change: Change): Promise<void> {
  await change.execute("select id from tenants where subdomain = $1 for no key update", [platformSubdomain]);
  const [other] = await change.execute<{ id: number }>(
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
    // Sessions from before do not come back with the tenant.
    if (!change.isActive) tenant.sessionEpoch += 1;
    fields.push("is_active");
  }
  if (fields.length > 0) tenant.updatedAt = now();
  return fields;
}

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

/** Only operators reach it (no route). Fails when the subdomain has been given to another tenant meanwhile. */
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

export async function bootstrapTenant(
  call: Call<ParamsOf<(typeof tenantsContract)["tenants.bootstrap"]>>,
): Promise<{ id: number; created: boolean }> {
  const { name, subdomain, settings } = call.params;
  return call.db.change(platform, call.caller, async (change) => {
    // Replicas that start together come one after the other.
    await change.execute("select pg_advisory_xact_lock(hashtext('tenants.bootstrap'))");
    const [found] = await change.execute<{ id: number }>(
      "select id from tenants where subdomain = $1 and deleted_at is null",
      [subdomain],
    );
    if (found !== undefined) return { id: found.id, created: false };
    const tenant = await insertTenant(change, { name, subdomain, settings });
    return { id: tenant.id, created: true };
  });
}

const purgesMax = 50;

/** One tenant a transaction: its users, departments and sessions go by cascade, its audit log stays. */
export async function purgeTenants(this: { runtime: Runtime }): Promise<void> {
  const { config, database } = this.runtime;
  for (let done = 0; done < purgesMax; done++) {
    const purged = await database.change(platform, Caller.system("tenants"), async (change) => {
      const [gone] = await change.execute<{ id: number }>(
        `delete from tenants where id = (select id from tenants where deleted_at < now() - make_interval(days => $1)
           order by deleted_at limit 1 for update skip locked) returning id`,
        [config.retentionDays],
      );
      if (gone !== undefined) {
        change.audit({ tenantId: gone.id, action: "tenant.purge", target: { type: "tenant", id: gone.id } });
      }
      return gone;
    });
    if (purged === undefined) return;
  }
}
