// Queries for tenants.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { NotFound } from "../shared/errors.ts";
import { administeredScope } from "../shared/administered-scope.ts";
import { toIso } from "../shared/wire.ts";
import type { Tenant } from "./tenants.contract.ts";
import { platformSubdomain, type RegistrationMode, registrationMode } from "./tenants.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

/** The interface defines these lists without paging, so they are bounded here. */
const listMax = 10_000;
const columns = "id, name, subdomain, settings, is_active, created_at";

const toTenantJson = (row: Tenant): Tenant => ({ ...row, created_at: toIso(row.created_at) });

/** All tenants; an administrator sees only the own tenant. At most `listMax`. */
export async function listTenants(call: Call<unknown>): Promise<Tenant[]> {
  const scope = administeredScope(call.caller);
  const own = scope === "platform" ? null : scope.tenantId;
  const rows = await call.db.read<Tenant>(scope, {
    name: own === null ? "tenants.list_all" : "tenants.list_own",
    text: `select ${columns} from tenants where deleted_at is null and ($1::integer is null or id = $1)
      order by id limit ${listMax}`,
    values: [own],
  });
  return rows.map(toTenantJson);
}

/** @throws NotFound also for a tenant outside the caller's scope */
export async function getTenant(call: Call<{ tenant_id: number }>): Promise<Tenant> {
  const scope = administeredScope(call.caller);
  const row = await call.db.readOne<Tenant>(scope, {
    name: scope === "platform" ? "tenants.get_any" : "tenants.get_own",
    text: `select ${columns} from tenants where id = $1 and deleted_at is null`,
    values: [call.params.tenant_id],
  });
  if (row === undefined) throw new NotFound("Tenant");
  return toTenantJson(row);
}

type PublicTenant = RowOf<"tenants", "id" | "name" | "subdomain">;

/** Active tenants, without the platform tenant. At most `listMax`. */
export function listPublicTenants(call: Call<unknown>): Promise<PublicTenant[]> {
  return call.db.read<PublicTenant>(platform, {
    name: "tenants.list_public",
    text: `select id, name, subdomain from tenants where deleted_at is null and is_active and subdomain <> $1
      order by lower(name), id limit ${listMax}`,
    values: [platformSubdomain],
  });
}

/**
 * The active tenant of a subdomain, with its registration mode. Case does not matter.
 * @returns null when there is none
 */
export async function findTenant(
  call: Call<{ subdomain: string }>,
): Promise<(PublicTenant & { registration: RegistrationMode }) | null> {
  const row = await call.db.readOne<
    PublicTenant & RowOf<"tenants", "settings", { settings: Record<string, unknown> }>
  >(platform, {
    name: "tenants.find",
    text: `select id, name, subdomain, settings from tenants where subdomain = lower($1) and is_active and deleted_at is null`,
    values: [call.params.subdomain],
  });
  if (row === undefined) return null;
  const { settings, ...tenant } = row;
  return { ...tenant, registration: registrationMode(settings, call.runtime.config.defaultRegistration) };
}
