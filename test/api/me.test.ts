import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startService, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

describe("200", () => {
  it.each(["/api/users/me", "/api/auth/me"])(
    "%s answers the profile with the department after its id",
    async (path) => {
      const token = await service.signIn("doctor");
      const { status, body } = await service.call("GET", path, { token });
      expect(status).toBe(200);
      expect(Object.keys(body).slice(0, 8)).toEqual([
        "id",
        "email",
        "full_name",
        "role",
        "tenant_id",
        "department_id",
        "department",
        "can_see_all_patients",
      ]);
      expect(body).toMatchObject({
        email: "doctor@demo.example",
        role: "doctor",
        department: { name: "Cardiology" },
      });
    },
  );
});

describe("401", () => {
  it.each([undefined, "", "x", "a.b.c"])("a token %j is nobody's", async (token) => {
    const { status, body, headers } = await service.call("GET", "/api/users/me", {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toBe("Bearer");
    expect(body).toEqual({ detail: expect.any(String), code: expect.any(String) });
  });
});
