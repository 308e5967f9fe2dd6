// The things that two administrators may meet at: a user, a department with people and patients in it, a patient, a
// webhook, a tenant.
import type { Doing, Scenario } from "./scenario.ts";

type Request = Pick<Doing<unknown>, "method" | "path" | "body">;
type OnLiving<State> = (
  name: string,
  request: Request,
  status: number,
  /** @returns what changes, or the status of a refusal */
  change: (state: State) => Partial<State> | number,
) => Doing<State>;

/** Doings that find the thing, or say 404. */
const living =
  <State extends { exists: boolean }>(): OnLiving<State> =>
  (name, request, status, change) => ({
    name,
    ...request,
    alone(state) {
      if (!state.exists) return { state, status: 404 };
      const changed = change(state);
      return typeof changed === "number"
        ? { state, status: changed }
        : { state: { ...state, ...changed }, status };
    },
  });

interface User {
  exists: boolean;
  active: boolean;
  role: string;
}
const onUser = living<User>();
const userPath = (tail: string) => (id: number) => `/api/admin/users/${id}${tail}`;
const becomes = (role: string): Doing<User> =>
  onUser(`becomes ${role}`, { method: "PUT", path: userPath("/role"), body: () => ({ role }) }, 200, () => ({
    role,
  }));

const user: Scenario<User> = {
  name: "a user",
  by: "admin",
  make: async (world) => (await world.addUser(world.tenants.own.id, "doctor")).id,
  begins: { exists: true, active: true, role: "doctor" },
  doings: [
    onUser("block", { method: "POST", path: userPath("/block") }, 200, () => ({ active: false })),
    onUser("unblock", { method: "POST", path: userPath("/unblock") }, 200, () => ({ active: true })),
    onUser("delete", { method: "DELETE", path: userPath("") }, 204, () => ({ exists: false })),
    becomes("nurse"),
    becomes("registrar"),
  ],
  look: (world, id) =>
    world.one("select deleted_at is null as exists, is_active as active, role from users where id = $1", [
      id,
    ]),
};

interface Department {
  exists: boolean;
  name: string;
  users: number;
  patients: number;
}
const onDepartment = living<Department>();
const departmentPath = (id: number) => `/api/admin/departments/${id}`;
/** Whoever is to come into a department that is gone is told so by 422. */
const enters = (
  what: "users" | "patients",
  path: string,
  body: (id: number) => object,
): Doing<Department> => ({
  name: `${what} enter`,
  method: "POST",
  path: () => path,
  body,
  alone: (state) =>
    state.exists ? { state: { ...state, [what]: state[what] + 1 }, status: 201 } : { state, status: 422 },
});
let count = 0;

const department: Scenario<Department> = {
  name: "a department",
  by: "admin",
  make: (world) => world.addDepartment(world.tenants.own.id),
  begins: { exists: true, name: "", users: 0, patients: 0 },
  doings: [
    onDepartment("delete", { method: "DELETE", path: departmentPath }, 204, ({ users, patients }) =>
      users + patients > 0 ? 409 : { exists: false, name: "" },
    ),
    onDepartment(
      "rename",
      { method: "PUT", path: departmentPath, body: (id) => ({ name: `Renamed ${id}` }) },
      200,
      () => ({
        name: "renamed",
      }),
    ),
    enters("users", "/api/admin/users", (id) => ({
      email: `i-${++count}@people.example`,
      password: "Open-Sesame-4711",
      full_name: "Somebody New",
      role: "nurse",
      department_id: id,
    })),
    enters("patients", "/api/patients", (id) => ({
      record_number: `I-${++count}`,
      full_name: "Somebody Ill",
      department_id: id,
    })),
  ],
  look: (world, id) =>
    world.one(
      `select exists (select from departments where id = $1) as exists,
         coalesce((select 'renamed' from departments where id = $1 and name = 'Renamed ' || $1), '') as name,
         (select count(*)::integer from users where department_id = $1) as users,
         (select count(*)::integer from patients where department_id = $1) as patients`,
      [id],
    ),
};

interface Patient {
  exists: boolean;
  version: number;
  records: number;
}
const onPatient = living<Patient>();
const patientPath = (tail: string) => (id: number) => `/api/patients/${id}${tail}`;
const writes = (notes: string): Doing<Patient> =>
  onPatient(
    `notes ${notes}`,
    { method: "PUT", path: patientPath(""), body: () => ({ version: 1, notes }) },
    200,
    ({ version }) => (version === 1 ? { version: 2 } : 409),
  );

const patient: Scenario<Patient> = {
  name: "a patient",
  by: "admin",
  make: (world) => world.addPatient(world.tenants.own.id),
  begins: { exists: true, version: 1, records: 0 },
  doings: [
    writes("one"),
    writes("two"),
    onPatient("delete", { method: "DELETE", path: patientPath("") }, 204, ({ version }) => ({
      exists: false,
      version: version + 1,
    })),
    onPatient(
      "add a record",
      { method: "POST", path: patientPath("/records"), body: () => ({ kind: "visit", body: "seen" }) },
      201,
      ({ records }) => ({ records: records + 1 }),
    ),
  ],
  look: (world, id) =>
    world.one(
      `select deleted_at is null as exists, version,
         (select count(*)::integer from patient_records where patient_id = p.id) as records from patients p where id = $1`,
      [id],
    ),
};

interface Webhook {
  exists: boolean;
  active: boolean;
}
const onWebhook = living<Webhook>();
const webhookPath = (id: number) => `/api/webhooks/${id}`;
const switched = (active: boolean): Doing<Webhook> =>
  onWebhook(
    active ? "switch on" : "switch off",
    { method: "PUT", path: webhookPath, body: () => ({ is_active: active }) },
    200,
    () => ({ active }),
  );

const webhook: Scenario<Webhook> = {
  name: "a webhook",
  by: "admin",
  make: (world) => world.addWebhook(world.tenants.own.id, false),
  begins: { exists: true, active: true },
  doings: [
    switched(true),
    switched(false),
    onWebhook("delete", { method: "DELETE", path: webhookPath }, 204, () => ({
      exists: false,
      active: false,
    })),
  ],
  look: (world, id) =>
    world.one(
      `select exists (select from webhooks w where w.id = t.id) as exists, is_active as active
       from delivery_targets t where id = $1`,
      [id],
    ),
};

interface Tenant {
  exists: boolean;
  active: boolean;
  name: string;
  users: number;
}
const onTenant = living<Tenant>();
const tenantPath = (id: number) => `/api/admin/tenants/${id}`;
const tenantChange = (name: string, change: Partial<Tenant>, body: object): Doing<Tenant> =>
  onTenant(name, { method: "PUT", path: tenantPath, body: () => body }, 200, () => change);

const tenant: Scenario<Tenant> = {
  name: "a tenant",
  by: "superadmin",
  make: async (world) => (await world.addTenant()).id,
  // With the administrator it was made with.
  begins: { exists: true, active: true, name: "A Clinic", users: 1 },
  doings: [
    tenantChange("deactivate", { active: false }, { is_active: false }),
    tenantChange("activate", { active: true }, { is_active: true }),
    tenantChange("rename", { name: "Another" }, { name: "Another" }),
    onTenant("delete", { method: "DELETE", path: tenantPath }, 204, () => ({ exists: false })),
    {
      name: "users enter",
      method: "POST",
      path: () => "/api/admin/users",
      body: (id) => ({
        email: `i-${++count}@people.example`,
        password: "Open-Sesame-4711",
        full_name: "Somebody New",
        role: "nurse",
        tenant_id: id,
      }),
      alone: (state) =>
        state.exists ? { state: { ...state, users: state.users + 1 }, status: 201 } : { state, status: 422 },
    },
  ],
  look: (world, id) =>
    world.one(
      `select deleted_at is null as exists, is_active as active, name,
         (select count(*)::integer from users where tenant_id = t.id) as users from tenants t where id = $1`,
      [id],
    ),
};

/** Each one's doings are only ever given states of its own. */
export const scenarios: readonly Scenario[] = [user, department, patient, webhook, tenant];
