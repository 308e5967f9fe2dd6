// Actions of the tenants service: administration, the public list, and the look-up for other services.
import { allow, anyone, onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { deletedList } from "../shared/deleted.ts";
import { weights } from "../shared/limits/weights.ts";
import { custom, nullable, optional, withDefault } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { dictionary, flag, integer, listOf, oneOf, pathId, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { registrationModes, settingsFault, subdomainFault } from "./tenants.rules.ts";

const bounds =
  "At most 65 536 bytes as JSON in UTF-8, and 8 levels, of which the object itself is the first.";
/**
 * The keys other than the known ones belong to the tenant: this service stores and returns them unchanged.
 */
const storedSettings = dictionary({
  maxBytes: 65_536,
  maxDepth: 8,
  name: "TenantSettings",
  known: {
    registration: oneOf(registrationModes, {
      name: "RegistrationMode",
      description: "Who may register; without it, what `DEFAULT_REGISTRATION` says.",
    }),
  },
  description: `\`registration\` is the one key that the service reads; any other may hold any JSON. ${bounds}`,
});

const tenantShape = object(
  {
    id: integer(),
    name: text(),
    subdomain: text(),
    settings: storedSettings,
    is_active: flag(),
    created_at: timestamp(),
  },
  { name: "Tenant" },
);
export type Tenant = ValueOf<typeof tenantShape>;

const name = text({ min: 1, max: 200, trim: true });
const settings = custom(storedSettings, settingsFault);
const subdomain = custom(
  text({
    min: 1,
    max: 200,
    trim: true,
    description: "Kept in lower case; some words are reserved.",
    schema: { minLength: 3, maxLength: 63, pattern: "^[A-Za-z0-9][A-Za-z0-9-]{1,61}[A-Za-z0-9]$" },
  }),
  subdomainFault,
);
const oneTenant = {
  path: { tenant_id: pathId({ description: "The tenant's id.", example: 1 }) },
  result: tenantShape,
};

export const tenantsContract = {
  "tenants.list": {
    summary: "All tenants; an administrator sees only their own.",
    audits: "tenant.list",
    access: allow("superadmin", "admin"),
    repeatable: true,
    weight: weights.list,
    result: listOf(tenantShape),
  },
  "tenants.create": {
    summary: "Creates a tenant.",
    audits: "tenant.create",
    access: allow("superadmin"),
    refuses: { 409: ["subdomain_taken", "single_tenant"] },
    example: { name: "North Clinic", subdomain: "north", settings: { registration: "approval" } },
    body: { name, subdomain, settings: withDefault(settings, {}) },
    result: tenantShape,
  },
  "tenants.get": {
    summary: "One tenant.",
    audits: "tenant.get",
    access: allow("superadmin", "admin"),
    repeatable: true,
    ...oneTenant,
  },
  "tenants.update": {
    summary: "Changes a tenant; deactivating one ends every session in it.",
    audits: "tenant.update",
    access: allow("superadmin", "admin"),
    refuses: { 403: ["superadmin_only"], 409: ["platform_tenant"] },
    example: { name: "North Clinic and Pharmacy" },
    ...oneTenant,
    body: { name: optional(name), settings: optional(settings), is_active: optional(flag()) },
  },
  "tenants.remove": {
    summary: "Deletes a tenant: hidden at once, purged after the retention.",
    audits: "tenant.delete",
    access: allow("superadmin"),
    refuses: { 409: ["platform_tenant"] },
    path: { tenant_id: pathId({ description: "The tenant's id.", example: 1 }) },
  },
  "tenants.list_deleted": {
    summary: "Tenants that were deleted and are not purged yet (operators, from the REPL).",
    audits: "tenant.list_deleted",
    ...deletedList({ name: text(), subdomain: text() }),
  },
  "tenants.restore": {
    summary: "Brings a deleted tenant back (operators, from the REPL).",
    audits: "tenant.restore",
    access: allow("superadmin"),
    refuses: { 409: ["subdomain_taken", "not_deleted"] },
    ...oneTenant,
  },
  "tenants.list_public": {
    summary: "Active tenants, for choosing one when signing in or registering.",
    audits: "tenant.list_public",
    access: anyone,
    repeatable: true,
    weight: weights.list,
    result: listOf(object({ id: integer(), name: text(), subdomain: text() }, { name: "PublicTenant" })),
  },
  "tenants.find": {
    summary: "The active tenant of a subdomain, or null.",
    audits: "tenant.find",
    access: onlyServices("departments", "accounts", "users", "start"),
    repeatable: true,
    body: { subdomain: text({ max: 200, trim: true }) },
    result: nullable(
      object({ id: integer(), name: text(), subdomain: text(), registration: oneOf(registrationModes) }),
    ),
  },
  "tenants.bootstrap": {
    summary: "Makes sure that a tenant exists (start-up only).",
    audits: "tenant.create",
    access: onlyServices("start"),
    body: { name, subdomain: text({ max: 63 }), settings: withDefault(settings, {}) },
    result: object({ id: integer(), created: flag() }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof tenantsContract> {}
}
