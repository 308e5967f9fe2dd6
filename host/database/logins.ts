// The logins the services work as: one per kind of process, each with what its services need. Its name follows from the
// database and the kind, "records_accounts"; in the platform's scope it takes up the role "records_accounts_platform", if
// any of its services works there.
import { rightsByService } from "./grants/registry.ts";
import type { Privileges, ServiceRights } from "./grants/rights.ts";

export interface LoginKind {
  kind: string;
  /** Names of service folders. */
  services: readonly string[];
}

export interface Login extends LoginKind {
  name: string;
  /** undefined: none of its services works in the platform's scope. */
  platformRole: string | undefined;
}

/** For a single process, and for the kinds of process that docs/deploy.md describes. */
export const defaultLogins: readonly LoginKind[] = [
  { kind: "login", services: Object.keys(rightsByService) },
  { kind: "accounts", services: ["auth", "tenants", "users"] },
  { kind: "crypto", services: ["crypto"] },
  { kind: "support", services: ["audit", "cache", "health", "mail", "patients", "payments", "self-healing"] },
  { kind: "outbound", services: ["messenger", "webhooks"] },
  { kind: "backups", services: ["backups"] },
];

/** https://www.postgresql.org/docs/18/limits.html: longer names are cut off, and two might become one */
const nameBytesMax = 63;

export const platformRoleOf = (loginName: string): string => `${loginName}_platform`;

export function rightsOf(services: readonly string[]): ServiceRights[] {
  return services.flatMap((service) => rightsByService[service] ?? []);
}

/** Roles that the login takes up beside its own for the platform's scope, and what they may. */
export function furtherRolesOf({
  name,
  services,
}: Pick<Login, "name" | "services">): { role: string; privileges: Privileges }[] {
  return rightsOf(services).flatMap(({ takesUp }) =>
    takesUp === undefined ? [] : [{ role: `${name}_${takesUp.suffix}`, privileges: takesUp.privileges }],
  );
}

/** All that a login may ever have had, whatever its services are now. */
export function everyRoleOf(name: string): string[] {
  const further = furtherRolesOf({ name, services: Object.keys(rightsByService) });
  return [name, platformRoleOf(name), ...further.map(({ role }) => role)];
}

/** @returns undefined where the database's name leaves no room for the roles' */
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
 * The kind with the fewest services of those that have all that this process needs.
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
