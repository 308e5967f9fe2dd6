// Processes that each have a database login of their own, with a password that no other process knows; the owner's login
// is `migrate`'s alone.
import { randomBytes } from "node:crypto";
import { type RunningProcess, runProcess, type TestDatabase } from "./service.ts";

/** By kind of process, the service folders it runs. */
export type Kinds = Readonly<Record<string, readonly string[]>>;

/** As docs/deploy.md has them. */
export const deployedKinds: Kinds = {
  accounts: ["auth", "tenants", "users"],
  crypto: ["crypto"],
  support: ["audit", "cache", "health", "mail", "patients", "payments", "self-healing"],
  outbound: ["messenger", "webhooks"],
  backups: ["backups"],
};

const apart = Object.values(deployedKinds).flat();
/** A login for each service: what one lacks, no other lends it. */
export const eachApart: Kinds = Object.fromEntries(apart.map((service) => [service, [service]]));

interface LoginSettings {
  /** For `migrate`. */
  settings: Record<string, string>;
  passwords: Readonly<Record<string, string>>;
}

function settingsFor(kinds: Kinds): LoginSettings {
  const passwords = Object.fromEntries(
    Object.keys(kinds).map((kind) => [kind, randomBytes(24).toString("base64url")]),
  );
  const list = Object.entries(kinds).map(([kind, services]) => `${kind}=${services.join(",")}`);
  const given = Object.entries(passwords).map(([kind, password]) => [
    `DATABASE_PASSWORD_${kind.toUpperCase()}`,
    password,
  ]);
  return { settings: { DATABASE_LOGINS: list.join(";"), ...Object.fromEntries(given) }, passwords };
}

/** Runs `npm run migrate`'s program to its end. */
export async function migrate(env: Record<string, string>): Promise<void> {
  const running = runProcess(env, "host/migrate.ts");
  if ((await running.exited) !== 0) throw new Error(`migrate failed:\n${running.output()}`);
}

/** The address of the database with this login in it. */
export function urlAs(database: Pick<TestDatabase, "url">, name: string, password: string): string {
  return database.url.replace(/\/\/[^@]*@/, `//${name}:${password}@`);
}

/** @param env of all processes, without the database */
export async function startKinds(
  database: TestDatabase,
  kinds: Kinds,
  env: Record<string, string>,
): Promise<RunningProcess[]> {
  const { settings, passwords } = settingsFor(kinds);
  await migrate({ DATABASE_URL: database.url, BOOT_SECRET: env["BOOT_SECRET"] ?? "", ...settings });
  const name = decodeURIComponent(new URL(database.url.replace("@/", "@socket/")).pathname.slice(1));
  const running = Object.entries(kinds).map(([kind, services]) =>
    runProcess({
      ...env,
      SERVICES: services.join(","),
      DATABASE_APP_URL: urlAs(database, `${name}_${kind}`, passwords[kind] ?? ""),
    }),
  );
  try {
    await Promise.all(running.map((each) => each.printed(/Records service is ready/)));
  } catch (error) {
    await Promise.all(running.map((each) => each.stop("SIGKILL")));
    throw error;
  }
  return running;
}
