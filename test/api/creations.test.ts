// What the audit log says of something that was made: every plain fact of it, for each operation that answers 201; and no
// name of a person, address, secret or text of a patient, as the log is never deleted.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { routes } from "../../services/api-gateway/routes.ts";
import { traceOf } from "../support/journal.ts";
import { type CallOptions, demoPassword, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let chief: string;
let ward: number;
let head: number;
let patient: number;

const canary = () => unique("kanarie-");

beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin, { registration: "open" });
  ward = (await makeDepartment(service, clinic.token)).id;
  const doctor = await makeUser(service, clinic.token, { role: "doctor", can_see_all_patients: true });
  head = doctor.id;
  chief = await service.signInAs(doctor.email, clinic.subdomain);
  const body = { record_number: canary(), full_name: canary() };
  patient = (await service.call("POST", "/api/patients", { token: chief, body })).body.id;
});
afterAll(() => service.stop());

interface Creation {
  options: () => CallOptions;
  /** Facts of the entry beyond the fields of the answer, and the words for those that are not shown. */
  more: Record<string, unknown>;
}

const person = () => ({ email: `${canary()}@people.example`, password: demoPassword, full_name: canary() });
const texts = () => ({
  full_name: canary(),
  notes: canary(),
  phone: "+44 20 7946 0001",
  birth_date: "1911-11-11",
});

const creations: Record<string, Creation> = {
  "/api/admin/users": {
    options: () => ({
      token: clinic.token,
      body: { ...person(), role: "head_doctor", department_id: ward, can_see_all_patients: true },
    }),
    more: {},
  },
  "/api/auth/register": {
    options: () => ({
      body: { ...person(), role: "nurse", department_id: ward, subdomain: clinic.subdomain },
    }),
    more: {},
  },
  "/api/admin/tenants": {
    options: () => ({
      token: superadmin,
      body: {
        name: "A Clinic",
        subdomain: unique("made"),
        settings: { registration: "closed", x: canary() },
      },
    }),
    more: { registration: "closed" },
  },
  "/api/admin/departments": {
    options: () => ({ token: clinic.token, body: { name: "Radiology", head_doctor_id: head } }),
    more: {},
  },
  "/api/patients": {
    options: () => ({ token: chief, body: { record_number: canary(), department_id: ward, ...texts() } }),
    more: { fields: ["record_number", "full_name", "birth_date", "phone", "notes"] },
  },
  "/api/patients/{patient_id}/records": {
    options: () => ({ token: chief, body: { kind: canary(), body: canary() } }),
    more: {},
  },
  "/api/webhooks/register": {
    options: () => ({
      token: clinic.token,
      body: {
        url: `https://93.184.215.14/${canary()}?token=${canary()}`,
        events: ["user.created", "patient.created"],
        secret: `${canary()} and enough`,
      },
    }),
    more: { url: "https://93.184.215.14", secret: "given" },
  },
};

/** The entry has them in its own columns, or they are the same for all that is made. */
const inColumns = new Set(
  "id tenant_id author_id created_at updated_at version failing_since disabled_at disabled_reason".split(" "),
);
/** Of persons and patients; secrets; what anybody may have written. `department` repeats department_id. */
const notForTheLog = new Set(
  "email full_name department record_number birth_date phone notes kind body settings url secret for_libraries".split(
    " ",
  ),
);

it("all operations that make something are looked at", () => {
  const making = routes.filter(({ status }) => status === 201).map(({ path }) => path);
  expect(making.sort()).toEqual(Object.keys(creations).sort());
});

describe("the entry of a creation", () => {
  it.each(Object.entries(creations))("POST %s", async (path, { options, more }) => {
    let answer: Awaited<ReturnType<TestService["call"]>> | undefined;
    const sent = options();
    const { entries } = await traceOf(service, async () => {
      answer = await service.call("POST", path.replace("{patient_id}", String(patient)), sent);
    });
    expect([answer?.status, answer?.body.code]).toEqual([201, undefined]);
    const entry = entries.find(({ action }) => /\.(?:create|register)$/.test(action));
    expect(entry?.target_id).toBe(String(answer?.body.id));
    const facts = Object.entries(answer?.body).filter(
      ([field]) => !inColumns.has(field) && !notForTheLog.has(field),
    );
    expect(entry?.changes).toEqual({ ...Object.fromEntries(facts), ...more });
    expect(JSON.stringify(entries)).not.toMatch(/kanarie|1911|7946|Open-Sesame|people\.example/);
  });

  it("says whether a webhook's secret was made here", async () => {
    const body = { url: "https://93.184.215.14/hook", events: ["user.created"] };
    const { entries } = await traceOf(service, () =>
      service.call("POST", "/api/webhooks/register", { token: clinic.token, body }),
    );
    expect(entries[0]?.changes).toMatchObject({ secret: "generated" });
  });

  it("and that of a tenant's change says who may register from now on", async () => {
    const body = { settings: { registration: "approval", x: canary() } };
    const { entries } = await traceOf(service, () =>
      service.call("PUT", `/api/admin/tenants/${clinic.id}`, { token: clinic.token, body }),
    );
    expect(entries[0]?.changes).toEqual({ fields: ["settings"], registration: "approval" });
  });
});
