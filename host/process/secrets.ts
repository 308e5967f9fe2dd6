// The secrets of a process: those that it was given or has generated, each for one purpose. What none of its services uses
// it need not hold, and asking for one that is not there says which is missing.
import { hkdfSync, randomBytes } from "node:crypto";
import { StartError } from "../../services/shared/start-error.ts";
import { secretNeeds } from "../settings/secret-needs.ts";
import type { Config } from "../settings/settings.ts";

type Given = Pick<Config, "jwtSecret" | "bootSecret" | "busSecret" | "auditSigningKey">;

/**
 * Names in the data folder's file of those that the process uses and was not given.
 * @param embedded it runs the database's server, which has a password too
 */
export function secretsToGenerate(config: Config, embedded: boolean): string[] {
  const needs = secretNeeds(config);
  const names = [
    ...(needs.jwt && config.jwtSecret === undefined ? ["jwt"] : []),
    ...(needs.boot && config.bootSecret === undefined ? ["boot"] : []),
    ...(embedded ? ["postgres"] : []),
  ];
  // Without a data folder it follows from BOOT_SECRET.
  return names.length > 0 && needs.audit && config.auditSigningKey === undefined
    ? [...names, "audit"]
    : names;
}

export class Secrets {
  readonly #jwt: string | undefined;
  readonly #boot: string | undefined;
  readonly #audit: string | undefined;
  /** Of all that goes between processes: it seals the bus and signs callers. */
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

  /** Of it the key is made that signs the audit log's checkpoints. @throws StartError */
  get audit(): string {
    return held(this.#audit, "AUDIT_SIGNING_KEY");
  }

  get bootIfHeld(): string | undefined {
    return this.#boot;
  }
}

/** Where there is one process alone, nobody else has to know it. */
function busSecretOf(bootSecret: string | undefined): string {
  if (bootSecret === undefined) return randomBytes(32).toString("base64url");
  return Buffer.from(hkdfSync("sha256", bootSecret, "", "records bus secret v1", 32)).toString("base64url");
}

function held(secret: string | undefined, name: string): string {
  if (secret === undefined) throw new StartError(`${name} is missing: a service of this process uses it.`);
  return secret;
}
