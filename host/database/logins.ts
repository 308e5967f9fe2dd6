// The database logins, one per kind of process, each with the rights that its services need. The name follows from the database
// and the kind: "records_accounts". In the platform scope it assumes the role "records_accounts_platform", if one of its services
// uses that scope.
import { rightsByService } from "./grants/registry.ts";
import type { Privileges, ServiceRights } from "./grants/rights.ts";

export interface LoginKind {
  kind: string;
  /** Names of service folders. */
  services: readonly string[];
}

export interface Login extends LoginKind {
  name: string;
  /** undefined: none of its services uses the platform scope. */
  platformRole: string | undefined;
}

/** For a single process, and for the kinds of process in docs/deploy.md. */
export const defaultLogins: readonly LoginKind[] = [
  { kind: "login", services: Object.keys(rightsByService) },
  { kind: "accounts", services: ["auth", "tenants", "users"] },
  { kind: "crypto", services: ["crypto"] },
  { kind: "support", services: ["audit", "cache", "health", "mail", "patients", "payments", "self-healing"] },
  { kind: "outbound", services: ["messenger", "webhooks"] },
  { kind: "backups", services: ["backups"] },
];

/** https://www.postgresql.org/docs/18/limits.html: longer names are truncated, so two names could become equal */
const nameBytesMax = 63;

/** @returns the role of a login in the platform scope */
export const platformRoleOf = (loginName: string): string => `${loginName}_platform`;

/** @returns the declared rights of the services; those without database rights are left out */
export function rightsOf(services: readonly string[]): ServiceRights[] {
  return services.flatMap((service) => rightsByService[service] ?? []);
}

/** @returns the roles of the login besides its platform role, with their rights */
export function furtherRolesOf({
  name,
  services,
}: Pick<Login, "name" | "services">): { role: string; privileges: Privileges }[] {
  return rightsOf(services).flatMap(({ assumes: takesUp }) =>
    takesUp === undefined ? [] : [{ role: `${name}_${takesUp.suffix}`, privileges: takesUp.privileges }],
  );
}

/** @returns all roles that a login may ever have had, whatever its services are now */
export function everyRoleOf(name: string): string[] {
  const further = furtherRolesOf({ name, services: Object.keys(rightsByService) });
  return [name, platformRoleOf(name), ...further.map(({ role }) => role)];
}

/** @returns undefined if the database's name is so long that the roles' names would be too long */
export function loginsOf(database: string, kinds: readonly LoginKind[]): Login[] | undefined {
  const logins = kinds.map(({ kind, services }) => {
    const name = `${database}_${kind}`;
    const worksAbove = rightsOf(services).some(({ platform }) => platform !== undefined);
    return { kind, services, name, platformRole: worksAbove ? platformRoleOf(name) : undefined };
  });
  const roles = logins.flatMap(({ name }) => everyRoleOf(name));
  const fits = roles.every((role) => Buffer.byteLength(role) <= nameBytesMax);
  return fits ? logins : undefined;
}

/**
 * @returns the kind with the fewest services among those that cover all services of this process
 * @param wanted names of service folders; undefined: all
 */
export function kindFor<K extends LoginKind>(
  kinds: readonly K[],
  wanted: readonly string[] | undefined,
): K | undefined {
  const needed = (wanted ?? Object.keys(rightsByService)).filter((service) => service in rightsByService);
  return kinds
    .filter(({ services }) => needed.every((service) => services.includes(service)))
    .sort((a, b) => a.services.length - b.services.length)[0];
}
