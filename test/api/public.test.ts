// Section 4.2, what anyone may look up before signing in: tenants and their departments.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
});
afterAll(() => service.stop());

const tenants = async (): Promise<{ id: number; name: string; subdomain: string }[]> =>
  (await service.call("GET", "/api/auth/tenants")).body;
const departments = (subdomain: string): Promise<Answer> =>
  service.call("GET", `/api/auth/departments?subdomain=${encodeURIComponent(subdomain)}`);
const setActive = (id: number, isActive: boolean) =>
  service.call("PUT", `/api/admin/tenants/${id}`, { token: superadmin, body: { is_active: isActive } });

describe("tenants, 200", () => {
  it("id, name and subdomain of each, and of the platform nothing", async () => {
    const clinic = await makeClinic(service, superadmin, { secret: "inside" });
    const { status, body } = await service.call("GET", "/api/auth/tenants");
    expect(status).toBe(200);
    expect(body.map((tenant: object) => Object.keys(tenant))).toEqual(
      body.map(() => ["id", "name", "subdomain"]),
    );
    const subdomains = body.map(({ subdomain }: { subdomain: string }) => subdomain);
    expect(subdomains).toEqual(expect.arrayContaining(["demo", clinic.subdomain]));
    expect(subdomains).not.toContain("platform");
    expect(JSON.stringify(body)).not.toContain("inside");
  });

  it("inactive and deleted ones are gone at once, an activated one is back at once", async () => {
    const { id } = await makeClinic(service, superadmin);
    const listed = async () => (await tenants()).some((tenant) => tenant.id === id);
    expect(await listed()).toBe(true);
    await setActive(id, false);
    expect(await listed()).toBe(false);
    await setActive(id, true);
    expect(await listed()).toBe(true);
    await service.call("DELETE", `/api/admin/tenants/${id}`, { token: superadmin });
    expect(await listed()).toBe(false);
  });

  it("a bad token does no harm where none is needed", async () => {
    expect((await service.call("GET", "/api/auth/tenants", { token: "nonsense" })).status).toBe(200);
  });
});

describe("departments, 200", () => {
  it("id and name, by name, of this tenant only, whatever the case of the subdomain", async () => {
    const clinic = await makeClinic(service, superadmin);
    const other = await makeClinic(service, superadmin);
    for (const name of ["surgery", "Anatomy", "Cardiology"])
      await makeDepartment(service, clinic.token, { name });
    await makeDepartment(service, other.token, { name: "Foreign" });
    for (const subdomain of [clinic.subdomain, clinic.subdomain.toUpperCase(), ` ${clinic.subdomain} `]) {
      const { status, body } = await departments(subdomain);
      expect(status).toBe(200);
      expect(body.map(({ name }: { name: string }) => name)).toEqual(["Anatomy", "Cardiology", "surgery"]);
      expect(Object.keys(body[0])).toEqual(["id", "name"]);
    }
  });

  it("a tenant without any has an empty list", async () => {
    const clinic = await makeClinic(service, superadmin);
    expect(await departments(clinic.subdomain)).toMatchObject({ status: 200, body: [] });
  });
});

describe("departments, 404", () => {
  it("unknown, inactive, deleted and the platform cannot be told apart", async () => {
    const inactive = await makeClinic(service, superadmin);
    await makeDepartment(service, inactive.token);
    await setActive(inactive.id, false);
    const deleted = await makeClinic(service, superadmin);
    await service.call("DELETE", `/api/admin/tenants/${deleted.id}`, { token: superadmin });
    const names = [
      "nowhere",
      "platform",
      inactive.subdomain,
      deleted.subdomain,
      "",
      "%",
      "_",
      "demo'--",
      "1",
    ];
    const answers = await Promise.all(names.map(departments));
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 404));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });
});

describe("departments, 422", () => {
  it.each([
    ["", [{ loc: ["query", "subdomain"], msg: "Field required", type: "missing" }]],
    ["?Subdomain=demo", [{ loc: ["query", "subdomain"], msg: "Field required", type: "missing" }]],
    ["?subdomain[]=demo", [{ loc: ["query", "subdomain"], msg: "Field required", type: "missing" }]],
    [`?subdomain=${"x".repeat(201)}`, [expect.objectContaining({ type: "string_too_long" })]],
    ["?subdomain=a%00b", [expect.objectContaining({ loc: ["query", "subdomain"] })]],
  ])("%s", async (query, detail) => {
    const answer = await service.call("GET", `/api/auth/departments${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual(detail);
  });

  it("of a repeated parameter the last one counts", async () => {
    const answer = await service.call("GET", "/api/auth/departments?subdomain=nowhere&subdomain=demo");
    expect(answer.status).toBe(200);
  });
});
