/** Rules between settings: what must be set together, what is published, and what collides. */
import type { Config } from "./settings.ts";
import { natsFaults } from "./nats-rules.ts";
import { storeFaults } from "./store-rules.ts";
import { passwordFault } from "../../services/shared/passwords/password-policy.ts";
import { secretNeeds } from "./secret-needs.ts";
import { needsOwnPassword, publishedDemoPassword } from "../../services/shared/demo-sign-in.ts";

/** Marks of values that were copied from documentation, examples and templates. */
const placeholder =
  /secret|password|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)|your[-_ ]?(?:own|jwt|key)|placeholder|example|insecure|default|demo|dummy|sample|minioadmin|0123456789abcdef|1234567890|qwertyuiop/i;

/** Whether a value is a published demo value or a placeholder: anybody can know it. */
function isPublished(text: string): boolean {
  return text === publishedDemoPassword || placeholder.test(text);
}

/**
 * @returns sentences on contradictions between settings
 * @param values without the settings that could not be parsed (they have their own fault already)
 * @param isGiven whether a variable, or its `_FILE`, was set at all
 */
export function faultsBetween(values: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  return [
    ...secretFaults(values, isGiven),
    ...productionFaults(values, isGiven),
    ...demoFaults(values),
    ...collisions(values),
    ...loginFaults(values),
    ...poolerFaults(values, isGiven),
    ...storeFaults(values, isGiven),
    ...natsFaults(values, isGiven),
  ];
}

/** A generated password is unknown to other processes: if another process creates the first data, the password must be set. */
function demoFaults({ production, demoMode, demoPassword, host, services }: Partial<Config>): string[] {
  if (production || demoMode === undefined || demoPassword === undefined || host === undefined) return [];
  const seeds = services === undefined || services.includes("users");
  if (seeds || !services.includes("api-gateway") || !needsOwnPassword({ demoMode, demoPassword, host }))
    return [];
  return ["DEMO_PASSWORD must be one of your own where HOST is not loopback: the default one is published."];
}

/**
 * Processes that share a bus or a database share secrets, and in production no secret is generated. Each process needs only the
 * secrets that it uses.
 */
function secretFaults(values: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  const reason = values.production
    ? "in production"
    : isGiven("NATS_URL")
      ? "when NATS_URL is set"
      : isGiven("DATABASE_APP_URL") && !isGiven("DATABASE_URL")
        ? "when DATABASE_APP_URL is set without DATABASE_URL"
        : undefined;
  if (reason === undefined) return [];
  const needs = secretNeeds(values);
  const hasBoot = isGiven("BOOT_SECRET") || needs.boot;
  const wanted = {
    JWT_SECRET: needs.jwt,
    BOOT_SECRET: needs.boot,
    // These two are derived from BOOT_SECRET if it is set.
    AUDIT_SIGNING_KEY: needs.audit && !hasBoot,
    BUS_SECRET: isGiven("NATS_URL") && !hasBoot,
  };
  const missing = Object.entries(wanted).flatMap(([name, isWanted]) =>
    isWanted && !isGiven(name) ? [`${name} (or ${name}_FILE) must be set ${reason}.`] : [],
  );
  return [...missing, ...publishedSecrets(values)];
}

function publishedSecrets(values: Partial<Config>): string[] {
  const secrets = Object.entries({
    JWT_SECRET: values.jwtSecret,
    BOOT_SECRET: values.bootSecret,
    AUDIT_SIGNING_KEY: values.auditSigningKey,
    BUS_SECRET: values.busSecret,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const faults = secrets
    .filter(([, text]) => isPublished(text))
    .map(([name]) => `${name} is a placeholder or a demo value.`);
  if (values.jwtPreviousSecrets?.some(isPublished))
    faults.push("JWT_PREVIOUS_SECRETS holds a placeholder or a demo value.");
  if (new Set(secrets.map(([, text]) => text)).size < secrets.length)
    faults.push("JWT_SECRET, BOOT_SECRET, BUS_SECRET and AUDIT_SIGNING_KEY must differ.");
  return faults;
}

function productionFaults(values: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  if (!values.production) return [];
  const faults: string[] = [];
  // Only a process that creates the first superadmin needs the password.
  if (!isGiven("ADMIN_PASSWORD") && (values.services === undefined || values.services.includes("users")))
    faults.push("ADMIN_PASSWORD (or ADMIN_PASSWORD_FILE) must be set in production.");
  if (values.adminPassword && isPublished(values.adminPassword))
    faults.push("ADMIN_PASSWORD is a placeholder or a demo value.");
  else if (values.adminPassword) {
    const about = { email: values.adminEmail ?? "", fullName: "", subdomain: "platform" };
    const fault = passwordFault(values.adminPassword, about);
    if (fault !== undefined) faults.push(`ADMIN_PASSWORD is refused: ${fault}`);
  }
  if (values.s3SecretKey && isPublished(values.s3SecretKey))
    faults.push("S3_SECRET_KEY is a placeholder or a demo value.");
  if (values.demoMode && values.demoPassword && isPublished(values.demoPassword))
    faults.push("DEMO_MODE in production needs a DEMO_PASSWORD of its own: the default one is published.");
  return faults;
}

function collisions(values: Partial<Config>): string[] {
  const ports = [values.port, values.healthPort, values.metricsPort].filter((each) => each);
  return new Set(ports).size < ports.length ? ["PORT, HEALTH_PORT and METRICS_PORT must differ."] : [];
}

function loginFaults({ databaseLogins, databasePasswords }: Partial<Config>): string[] {
  if (databaseLogins === undefined || databasePasswords === undefined) return [];
  return Object.keys(databasePasswords)
    .filter((kind) => !databaseLogins.some((login) => login.kind === kind))
    .map((kind) => `DATABASE_PASSWORD_${kind.toUpperCase()} is the password of no login in DATABASE_LOGINS.`);
}

/** The owner needs connections of its own: only those of the services may go through a pooler. */
function poolerFaults({ databasePooler }: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  if (databasePooler !== "transaction" || isGiven("DATABASE_APP_URL")) return [];
  return ["DATABASE_POOLER is about DATABASE_APP_URL (or DATABASE_APP_URL_FILE), which must be set with it."];
}
