// An administration day by a client of openapi-typescript's types: compiled beside them, then run against a service.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

const [baseUrl = "", email = "", password = "", subdomain = ""] = process.argv.slice(2);

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of an answer that has to be a success. */
function of<T>({ data, error, response }: Answer<T>): T {
  if (data === undefined) throw new Error(`${response.url} ${response.status} ${JSON.stringify(error)}`);
  return data;
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const anyone = createClient<paths>({ baseUrl });
const signedIn = of(await anyone.POST("/api/auth/login", { body: { email, password, subdomain } }));
const headers = { authorization: `Bearer ${signedIn.access_token}` };
const api = createClient<paths>({ baseUrl, headers });

const role: components["schemas"]["Role"] = "doctor";
const users = of(
  await api.GET("/api/admin/users", { params: { query: { page: 1, limit: 2, sort_order: "desc" } } }),
);
must(users.total >= 3 && users.items.length === 2, "the list of users");
const made = of(
  await api.POST("/api/admin/users", {
    body: {
      email: `day-${Date.now()}@clinic.example`,
      password: "a long and quiet evening",
      full_name: "Grace Hopper",
      role,
      can_see_all_patients: true,
    },
  }),
);
const path = { user_id: made.id };
const blocked = of(await api.POST("/api/admin/users/{user_id}/block", { params: { path } }));
must(!blocked.is_active, "the block");
const again = await api.POST("/api/admin/users", {
  body: { email: made.email, password: "another quiet evening", full_name: "Grace", role },
});
// An error is typed by what the operation refuses with: a code that is none would not compile.
const taken: components["schemas"]["UsersCreateConflict"]["code"] = "email_taken";
must(again.response.status === 409 && again.error !== undefined && "code" in again.error, "the conflict");
must((again.error as { code: string }).code === taken, "its code");

const department = of(await api.POST("/api/admin/departments", { body: { name: `Ward ${made.id}` } }));
const departments = of(await api.GET("/api/admin/departments", {}));
must(
  departments.items.some(({ id }) => id === department.id),
  "the departments",
);

const patient = of(
  await api.POST("/api/patients", {
    body: {
      record_number: `N-${made.id}`,
      full_name: "Pat Patient",
      birth_date: "1990-05-17",
      department_id: department.id,
    },
  }),
);
must(patient.birth_date === "1990-05-17", "the date of birth");
const changed = of(
  await api.PUT("/api/patients/{patient_id}", {
    params: { path: { patient_id: patient.id } },
    body: { version: patient.version, birth_date: null },
  }),
);
must(changed.birth_date === null, "the date of birth that was taken away");

const webhook = of(
  await api.POST("/api/webhooks/register", {
    body: { url: "https://93.184.215.14/hook", events: ["user.created", "*"] },
  }),
);
const kinds = of(await api.GET("/api/webhooks/event-types", {}));
must(
  kinds.some(({ type }) => type === "payment.failed"),
  "the kinds of events",
);
must(typeof webhook.secret === "string", "the secret that was generated");
const log = of(
  await api.GET("/api/webhooks/{webhook_id}/deliveries", { params: { path: { webhook_id: webhook.id } } }),
);
// A field that no event has would not compile.
const told = log.items.flatMap(({ data }) => ("department_id" in data ? [data.department_id] : []));
must(
  told.every((id) => id === null || Number.isInteger(id)),
  "the deliveries",
);
const tenant = of(await api.GET("/api/admin/tenants", {}))[0];
const settings: components["schemas"]["TenantSettings"] = { registration: "approval", opening: ["8:00"] };
const kept = of(
  await api.PUT("/api/admin/tenants/{tenant_id}", {
    params: { path: { tenant_id: tenant?.id ?? 0 } },
    body: { settings },
  }),
);
must(kept.settings.registration === "approval", "the tenant's settings");
const audit = of(await api.GET("/api/admin/audit", { params: { query: { action: "tenant.update" } } }));
must(audit.items[0]?.changes.fields?.join() === "settings", "the audit entry");
const gone = await api.DELETE("/api/webhooks/{webhook_id}", { params: { path: { webhook_id: webhook.id } } });
must(gone.response.status === 204, "the deletion");

const notice = of(
  await anyone.POST("/webhooks/card-provider", {
    body: {
      id: `day-${made.id}`,
      type: "payment.pending",
      created: 1_790_000_000,
      data: {
        object: {
          id: `day-${made.id}`,
          amount: 1999,
          currency: "EUR",
          metadata: { tenant: subdomain },
        },
      },
    },
  }),
);
must(notice.received && !notice.duplicate, "the notification");
process.stdout.write("the day is done\n");
