/** Rules between settings: what must be given together, what may not be published, what may not collide. */
import type { Config } from "./settings.ts";
import { passwordFault } from "../passwords/password-policy.ts";
import { publishedDemoPassword } from "./accounts.ts";

/** The marks of values copied from documentation, examples and templates. */
const placeholder =
  /secret|password|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)|your[-_ ]?(?:own|jwt|key)|placeholder|example|insecure|default|demo|dummy|sample|0123456789abcdef|1234567890|qwertyuiop/i;

/** Published demo values and placeholders: anyone can know them. */
export function isPublished(text: string): boolean {
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
    ...collisions(values),
    ...loginFaults(values),
  ];
}

/** Processes that share a bus or a database share their secrets, and production keeps its own: none is generated. */
function secretFaults(values: Partial<Config>, isGiven: (name: string) => boolean): string[] {
  const reason = values.production
    ? "in production"
    : isGiven("NATS_URL")
      ? "when NATS_URL is set"
      : isGiven("DATABASE_APP_URL") && !isGiven("DATABASE_URL")
        ? "when DATABASE_APP_URL is set without DATABASE_URL"
        : undefined;
  if (reason === undefined) return [];
  const faults: string[] = [];
  for (const name of ["JWT_SECRET", "BOOT_SECRET"])
    if (!isGiven(name)) faults.push(`${name} (or ${name}_FILE) must be set ${reason}.`);
  if (values.jwtSecret && isPublished(values.jwtSecret))
    faults.push("JWT_SECRET is a placeholder or a demo value.");
  if (values.bootSecret && isPublished(values.bootSecret))
    faults.push("BOOT_SECRET is a placeholder or a demo value.");
  if (values.auditSigningKey && isPublished(values.auditSigningKey))
    faults.push("AUDIT_SIGNING_KEY is a placeholder or a demo value.");
  if (values.jwtPreviousSecrets?.some(isPublished))
    faults.push("JWT_PREVIOUS_SECRETS holds a placeholder or a demo value.");
  if (values.jwtSecret && values.jwtSecret === values.bootSecret)
    faults.push("JWT_SECRET and BOOT_SECRET must differ.");
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
