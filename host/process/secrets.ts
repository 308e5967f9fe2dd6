// The secrets of a process: set or generated, each for one purpose. A process does not need secrets that none of its services
// uses. Reading a missing one throws an error with its name.
import { hkdfSync, randomBytes } from "node:crypto";
import { StartError } from "../../services/shared/start-error.ts";
import { secretNeeds } from "../settings/secret-needs.ts";
import type { Config } from "../settings/settings.ts";

type Given = Pick<Config, "jwtSecret" | "bootSecret" | "busSecret" | "auditSigningKey">;

/**
 * @returns the names of secrets that the process needs and that were not set; they are generated in the data folder's file
 * @param embedded whether it runs the database server, which needs a password too
 */
export function secretsToGenerate(config: Config, embedded: boolean): string[] {
  const needs = secretNeeds(config);
  const names = [
    ...(needs.jwt && config.jwtSecret === undefined ? ["jwt"] : []),
    ...(needs.boot && config.bootSecret === undefined ? ["boot"] : []),
    ...(embedded ? ["postgres"] : []),
  ];
  // Without a data folder it is derived from BOOT_SECRET.
  return names.length > 0 && needs.audit && config.auditSigningKey === undefined
    ? [...names, "audit"]
    : names;
}

/** @throws StartError when a missing secret is read */
export class Secrets {
  readonly #jwt: string | undefined;
  readonly #boot: string | undefined;
  readonly #audit: string | undefined;
  /** For everything between processes: it encrypts the bus and signs callers. */
  readonly bus: string;

  constructor(given: Given, generated: Readonly<Record<string, string | undefined>>) {
    this.#jwt = given.jwtSecret ?? generated.jwt;
    this.#boot = given.bootSecret ?? generated.boot;
    this.#audit = given.auditSigningKey ?? generated.audit ?? this.#boot;
    this.bus = given.busSecret ?? busSecretOf(this.#boot);
  }

  /** @throws StartError */
  get jwt(): string {
    return held(this.#jwt, "JWT_SECRET");
  }

  /** @throws StartError */
  get boot(): string {
    return held(this.#boot, "BOOT_SECRET");
  }

  /** The key that signs the audit log's checkpoints is derived from it. @throws StartError */
  get audit(): string {
    return held(this.#audit, "AUDIT_SIGNING_KEY");
  }

  get bootIfHeld(): string | undefined {
    return this.#boot;
  }
}

/** A single process without a bus needs no secret that others know. */
function busSecretOf(bootSecret: string | undefined): string {
  if (bootSecret === undefined) return randomBytes(32).toString("base64url");
  return Buffer.from(hkdfSync("sha256", bootSecret, "", "records bus secret v1", 32)).toString("base64url");
}

function held(secret: string | undefined, name: string): string {
  if (secret === undefined) throw new StartError(`${name} is missing: a service of this process uses it.`);
  return secret;
}
