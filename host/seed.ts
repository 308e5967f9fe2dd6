// Creates the first data of an installation: the platform and its first superadmin; in demo mode also a demo tenant. It is
// idempotent and uses the ordinary actions, so it is audited too.
import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { ServiceBroker } from "moleculer";
import { callAs } from "../services/shared/bus/bus.ts";
import { Caller } from "../services/shared/caller.ts";
import { platform } from "../services/shared/database/scope.ts";
import type { Role } from "../services/shared/roles.ts";
import type { DemoPasswords } from "./process/demo-passwords.ts";
import { StartError } from "../services/shared/start-error.ts";
import { isLostDatabase } from "../services/shared/failures.ts";
import type { Runtime } from "./process/runtime.ts";

export interface SignIn {
  subdomain: string;
  email: string;
  role: Role;
  /** undefined: set at an earlier start or by a setting, so it is not printed. */
  password: string | undefined;
}

const demo = { subdomain: "demo", name: "Demo Clinic", departments: ["Cardiology", "Surgery"] };
const demoPeople: readonly {
  email: string;
  name: string;
  role: Role;
  department: string | null;
  all: boolean;
}[] = [
  { email: "admin@demo.example", name: "Ada Admin", role: "admin", department: null, all: true },
  {
    email: "head@demo.example",
    name: "Hanna Head",
    role: "head_doctor",
    department: "Cardiology",
    all: false,
  },
  {
    email: "doctor@demo.example",
    name: "David Doctor",
    role: "doctor",
    department: "Cardiology",
    all: false,
  },
  { email: "nurse@demo.example", name: "Nora Nurse", role: "nurse", department: "Surgery", all: false },
  {
    email: "registrar@demo.example",
    name: "Remy Registrar",
    role: "registrar",
    department: null,
    all: false,
  },
];

/** Services that create the first data, besides `users`. */
const servicesNeeded = ["auth", "tenants"];
const waitMsMax = 60_000;

/**
 * Runs in the process with `users`; the other services may run in other processes.
 * @returns the sign-ins to print; empty if another process creates the first data
 */
export async function seed(broker: ServiceBroker, runtime: Runtime): Promise<SignIn[]> {
  const isHere = (name: string) => broker.services.some((service) => service.name === name);
  const elsewhere = servicesNeeded.filter((name) => !isHere(name));
  // Without a bus no other process can appear.
  if (!isHere("users") || (elsewhere.length > 0 && runtime.config.natsUrls === undefined)) return [];
  await waitForServices(broker, elsewhere);
  // Idempotent, so it is repeated if another process was unavailable for a moment.
  return elsewhere.length === 0 ? seedOnce(broker, runtime) : withRetries(() => seedOnce(broker, runtime));
}

function seedOnce(broker: ServiceBroker, runtime: Runtime): Promise<SignIn[]> {
  return runtime.database.change(platform, Caller.system("start"), async (change) => {
    // Other transactions create the data, and passwords are hashed meanwhile; this one only holds the lock.
    await change.execute("select set_config('idle_in_transaction_session_timeout', '120s', true)");
    // Serialises replicas that start together.
    await change.execute("select pg_advisory_xact_lock(hashtext('start.seed'))");
    return seedAll(broker, runtime);
  });
}

/** @throws StartError when they do not appear: the orchestrator restarts this process */
async function waitForServices(broker: ServiceBroker, services: string[]): Promise<void> {
  if (services.length === 0) return;
  try {
    await broker.waitForServices(services, waitMsMax, 200);
  } catch {
    throw new StartError(
      `The first data are made with ${services.join(" and ")}: no process with them was seen on the bus within a minute.`,
    );
  }
}

const transientErrors = new Set([
  "Unavailable",
  "ServiceNotAvailableError",
  "ServiceNotFoundError",
  "RequestTimeoutError",
]);

async function withRetries<T>(work: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + waitMsMax; ; ) {
    try {
      return await work();
    } catch (error) {
      const { name } = error as Partial<Error>;
      const passes = transientErrors.has(String(name)) || isLostDatabase(error);
      if (!passes || performance.now() > until) throw error;
      await setTimeout(500);
    }
  }
}

async function seedAll(broker: ServiceBroker, runtime: Runtime): Promise<SignIn[]> {
  const { config } = runtime;
  const platformTenant = await callAs(broker, "start", "tenants.bootstrap", {
    name: "Platform",
    subdomain: "platform",
  });
  const superadmin = await seedSuperadmin(broker, runtime, platformTenant.id);
  return config.demoMode ? [superadmin, ...(await seedDemo(broker, runtime.demoPasswords))] : [superadmin];
}

async function seedSuperadmin(broker: ServiceBroker, runtime: Runtime, tenantId: number): Promise<SignIn> {
  const { config, demoPasswords } = runtime;
  const { adminEmail: email } = config;
  const generated = config.demoMode ? demoPasswords.current : randomBytes(15).toString("base64url");
  const { created, replaced } = await callAs(broker, "start", "users.bootstrap", {
    tenant_id: tenantId,
    email,
    password: config.adminPassword ?? generated,
    full_name: "Platform Administrator",
    role: "superadmin",
    can_see_all_patients: true,
    instead_of: [...demoPasswords.former],
  });
  const printable = config.adminPassword === undefined && (created || replaced || config.demoMode);
  return { subdomain: "platform", email, role: "superadmin", password: printable ? generated : undefined };
}

async function seedDemo(
  broker: ServiceBroker,
  { current: password, former }: DemoPasswords,
): Promise<SignIn[]> {
  const { name, subdomain } = demo;
  const tenant = await callAs(broker, "start", "tenants.bootstrap", {
    name,
    subdomain,
    settings: { registration: "open" },
  });
  const departments = await seedDepartments(broker, tenant.id);
  const signIns: SignIn[] = [];
  for (const { email, name: full_name, role, department, all } of demoPeople) {
    const department_id = department === null ? null : (departments.get(department) ?? null);
    // A deleted demo user stays deleted: users are created only with the tenant, or to complete an interrupted start.
    await callAs(broker, "start", "users.bootstrap", {
      tenant_id: tenant.id,
      email,
      password,
      full_name,
      role,
      department_id,
      can_see_all_patients: all,
      instead_of: [...former],
    });
    signIns.push({ subdomain, email, role, password });
  }
  return signIns;
}

/** Creates them if there are none: also after a start that was interrupted between tenant and departments. */
async function seedDepartments(broker: ServiceBroker, tenantId: number): Promise<Map<string, number>> {
  const present = await callAs(broker, "start", "departments.list", { tenant_id: tenantId });
  const made = new Map(present.items.map(({ name, id }) => [name, id]));
  if (made.size > 0) return made;
  for (const name of demo.departments) {
    const { id } = await callAs(broker, "start", "departments.create", { name, tenant_id: tenantId });
    made.set(name, id);
  }
  return made;
}
