// The same day by the client that openapi-generator makes for typescript-fetch: dates are Dates, names are camel case.
import {
  AuditApi,
  AuthenticationApi,
  Configuration,
  DepartmentsApi,
  PatientsApi,
  PaymentsApi,
  RegistrationMode,
  ResponseError,
  Role,
  SortOrder,
  TenantsApi,
  UsersApi,
  WebhooksApi,
} from "./client/index.js";

const [basePath = "", email = "", password = "", subdomain = ""] = process.argv.slice(2);

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const anyone = new Configuration({ basePath });
const signedIn = await new AuthenticationApi(anyone).authLogin({
  authLoginRequest: { email, password, subdomain },
});
const api = new Configuration({ basePath, accessToken: signedIn.accessToken });

const users = new UsersApi(api);
const listed = await users.usersList({ page: 1, limit: 2, sortOrder: SortOrder.Desc });
must(listed.total >= 3 && listed.items.length === 2, "the list of users");
const wanted = {
  email: `day-${Date.now()}@clinic.example`,
  password: "a long and quiet evening",
  fullName: "Grace Hopper",
  role: Role.Doctor,
};
const made = await users.usersCreate({ usersCreateRequest: wanted });
must(made.createdAt instanceof Date, "the moment");
must(!(await users.usersBlock({ userId: made.id })).isActive, "the block");
const refused = await users.usersCreate({ usersCreateRequest: wanted }).catch((error: unknown) => error);
must(refused instanceof ResponseError && refused.response.status === 409, "the conflict");

const departments = new DepartmentsApi(api);
const { id: departmentId } = await departments.departmentsCreate({
  departmentsCreateRequest: { name: `Ward ${made.id}` },
});
must(
  (await departments.departmentsList({})).items.some(({ id }) => id === departmentId),
  "departments",
);

const patients = new PatientsApi(api);
const patient = await patients.patientsCreate({
  patientsCreateRequest: {
    recordNumber: `N-${made.id}`,
    fullName: "Pat Patient",
    birthDate: new Date("1990-05-17"),
    departmentId,
  },
});
must(patient.birthDate?.toISOString().startsWith("1990-05-17") === true, "the date of birth");
const changed = await patients.patientsUpdate({
  patientId: patient.id,
  patientsUpdateRequest: { version: patient.version, birthDate: null },
});
must((changed.birthDate ?? null) === null, "the date of birth that was taken away");

const webhooks = new WebhooksApi(api);
const webhook = await webhooks.webhooksRegister({
  webhooksRegisterRequest: { url: "https://93.184.215.14/hook", events: ["user.created", "*"] },
});
must(typeof webhook.secret === "string", "the secret that was generated");
must(
  (await webhooks.webhooksEventTypes()).some(({ type }) => type === "payment.failed"),
  "the kinds",
);
const log = await webhooks.webhooksDeliveries({ webhookId: webhook.id });
must(
  log.items.every(({ kind, data }) => kind !== "user.blocked" || Number.isInteger(data.userId)),
  "the deliveries",
);
const tenants = new TenantsApi(api);
const tenant = (await tenants.tenantsList())[0];
const kept = await tenants.tenantsUpdate({
  tenantId: tenant?.id ?? 0,
  tenantsUpdateRequest: { settings: { registration: RegistrationMode.Approval, opening: ["8:00"] } },
});
must(kept.settings.registration === "approval", "the tenant's settings");
const audit = await new AuditApi(api).auditList({ action: "tenant.update" });
must(audit.items[0]?.changes.fields?.join() === "settings", "the audit entry");
await webhooks.webhooksRemove({ webhookId: webhook.id });

const notice = await new PaymentsApi(anyone).paymentsTakeCard({
  paymentsTakeCardRequest: {
    id: `day-${made.id}`,
    type: "payment.pending",
    created: 1_790_000_000,
    data: {
      object: { id: `day-${made.id}`, amount: 1999, currency: "EUR", metadata: { tenant: subdomain } },
    },
  },
});
must(notice.received && !notice.duplicate, "the notification");
process.stdout.write("the day is done\n");
