/** Which secrets a process needs, by its services: each secret is given only to the processes that use it. */
import { kindFor } from "../database/logins.ts";
import type { Config } from "./settings.ts";

export interface SecretNeeds {
  /** To sign and verify tokens. */
  jwt: boolean;
  /** To wrap the keys at rest, and to check before preparing a database that it is the right one. */
  boot: boolean;
  /** To sign checkpoints of the audit log. */
  audit: boolean;
}

type Facts = Partial<
  Pick<Config, "services" | "databaseUrl" | "databaseAppUrl" | "databaseLogins" | "databasePasswords">
>;

/** @returns which secrets a process with these settings uses */
export function secretNeeds(facts: Facts): SecretNeeds {
  const { services, databaseUrl, databaseAppUrl } = facts;
  const runs = (folder: string) => services === undefined || services.includes(folder);
  const usesDatabase = services === undefined || services.some((folder) => folder !== "api-gateway");
  const prepares = databaseUrl !== undefined || (usesDatabase && databaseAppUrl === undefined);
  return {
    jwt: runs("auth"),
    boot: runs("crypto") || prepares || (usesDatabase && derivesPassword(facts)),
    audit: runs("audit"),
  };
}

/** A login's password that is not set is derived from BOOT_SECRET. */
function derivesPassword({ services, databaseAppUrl, databaseLogins, databasePasswords }: Facts): boolean {
  if (databaseAppUrl === undefined || /^\w+:\/\/[^/?@]+@/.test(databaseAppUrl)) return false;
  const login = kindFor(databaseLogins ?? [], services);
  return login === undefined || databasePasswords?.[login.kind] === undefined;
}
