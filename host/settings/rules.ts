/** Rules between settings: what must be given together, what may not be published, what may not collide. */
import type { Config } from "./settings.ts";
import { natsFaults } from "./nats-rules.ts";
import { storeFaults } from "./store-rules.ts";
import { passwordFault } from "../../services/shared/passwords/password-policy.ts";
import { secretNeeds } from "./secret-needs.ts";
import { needsOwnPassword, publishedDemoPassword } from "../../services/shared/demo-sign-in.ts";

/** The marks of values copied from documentation, examples and templates. */
const placeholder =
  /secret|password|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)|your[-_ ]?(?:own|jwt|key)|placeholder|example|insecure|default|demo|dummy|sample|minioadmin|0123456789abcdef|1234567890|qwertyuiop/i;

/** Published demo values and placeholders: anyone can know them. */
function isPublished(text: string): boolean {
  return text === publishedDemoPassword || placeholder.test(text);
}

/**
 * Sentences on what is wrong between settings. `values` lacks the settings that could not be read (they have
 * their own fault already); `isGiven` tells whether a variable, or its `_FILE`, was set at all.
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

/** A password that one process makes is not known to the others: where the first data are made elsewhere it has to be set. */
function demoFaults({ production, demoMode, demoPassword, host, services }: Partial<Config>): string[] {
  if (production || demoMode === undefined || demoPassword === undefined || host === undefined) return [];
  const seeds = services === undefined || services.includes("users");
  if (seeds || !services.includes("api-gateway") || !needsOwnPassword({ demoMode, demoPassword, host }))
    return [];
  return ["DEMO_PASSWORD must be one of your own where HOST is not loopback: the default one is published."];
}

/**
 * Processes that share a bus or a database share secrets, and production keeps its own: none is generated. Each process
 * needs those that it uses, and no other.
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
    // These two follow from BOOT_SECRET where it is.
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
  // Only a process that makes the first superadmin needs to know the password.
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

/** The owner's work needs connections of its own: only the services' may be lent. */
function poolerFaults({ databasePooler }: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  if (databasePooler !== "transaction" || isGiven("DATABASE_APP_URL")) return [];
  return ["DATABASE_POOLER is about DATABASE_APP_URL (or DATABASE_APP_URL_FILE), which must be set with it."];
}
