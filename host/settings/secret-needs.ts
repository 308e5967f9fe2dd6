/** Which secrets a process uses, by what it runs: each is given to the processes that use it, and to no other. */
import { kindFor } from "../database/logins.ts";
import type { Config } from "./settings.ts";

export interface SecretNeeds {
  /** Signs and reads tokens. */
  jwt: boolean;
  /** Wraps the keys at rest; and what prepares a database proves by it that it is the right one. */
  boot: boolean;
  /** Signs checkpoints of the audit log. */
  audit: boolean;
}

type Facts = Partial<
  Pick<Config, "services" | "databaseUrl" | "databaseAppUrl" | "databaseLogins" | "databasePasswords">
>;

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

/** A login's password that is set nowhere follows from BOOT_SECRET. */
function derivesPassword({ services, databaseAppUrl, databaseLogins, databasePasswords }: Facts): boolean {
  if (databaseAppUrl === undefined || /^\w+:\/\/[^/?@]+@/.test(databaseAppUrl)) return false;
  const login = kindFor(databaseLogins ?? [], services);
  return login === undefined || databasePasswords?.[login.kind] === undefined;
}
