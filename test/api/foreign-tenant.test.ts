// Naming another clinic: refused however its id is written, as every way to write a number that validation accepts is a
// way to reach for somebody else's tenant.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { contracts, routes } from "../../services/api-gateway/routes.ts";
import type { ActionContract } from "../../services/shared/bus/bus.ts";
import { Caller } from "../../services/shared/caller.ts";
import { assertOwnTenant } from "../../services/shared/own-tenant.ts";
import { readInteger } from "../../services/shared/params/read-scalar.ts";
import { tenantToActIn } from "../../services/shared/administered-scope.ts";
import type { Role } from "../../services/shared/roles.ts";
import { startService, type TestService } from "../support/service.ts";
import { makeClinic, makeTenant, unique } from "../support/tenancy.ts";

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
/** Of two digits, so that an underscore fits between them. */
let otherId = 0;
beforeAll(async () => {
  service = await startService();
  const superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  while (otherId < 10) otherId = (await makeTenant(service, superadmin)).id;
});
afterAll(() => service.stop());

const spellings = (id: number): string[] => {
  const digits = String(id);
  const [first, ...rest] = digits;
  const parted = [first, ...rest].join("_");
  return [
    digits,
    `0${digits}`,
    `0_${digits}`,
    parted,
    `+${digits}`,
    `+0_${parted}`,
    `${digits}.`,
    `${digits}.0`,
    `${parted}.00`,
    ` ${digits} `,
    `\t0_${digits}\n`,
    `\u00a0${digits}`,
  ];
};

interface Door {
  action: string;
  method: string;
  path: string;
  place: "query" | "body";
}
const doors: Door[] = routes.flatMap(({ method, path, action }) => {
  const { query, body }: Partial<ActionContract> = contracts[action];
  return (["query", "body"] as const)
    .filter((place) => Object.hasOwn({ query, body }[place] ?? {}, "tenant_id"))
    .map((place) => ({ action, method, path, place }));
});
/** Whatever else the operation wants, so that it would be done if it were not refused. */
const more: Record<string, () => object> = {
  "users.create": () => ({
    email: `${unique()}@intruder.example`,
    password: "a long enough secret",
    full_name: "In Truder",
    role: "admin",
  }),
  "departments.create": () => ({ name: unique("Annexed ") }),
};

describe("a clinic's administrator who names another clinic", () => {
  it("has these doors", () => {
    expect(doors.map(({ action }) => action).sort()).toEqual([
      "audit.checkpoints",
      "audit.export",
      "audit.list",
      "audit.verify",
      "departments.create",
      "departments.list",
      "payments.list",
      "users.create",
      "users.list",
    ]);
  });

  it.each(doors.map((door) => [door.action, door] as const))("%s: 403, however written", async (_, door) => {
    const query = (text: string) => `${door.path}?tenant_id=${encodeURIComponent(text)}`;
    const ask = (given: unknown) =>
      door.place === "query"
        ? service.call(door.method, query(String(given)), { token: clinic.token })
        : service.call(door.method, door.path, {
            token: clinic.token,
            body: { ...more[door.action]?.(), tenant_id: given },
          });
    const given: unknown[] = spellings(otherId);
    if (door.place === "body") given.push(otherId, true);
    for (const each of given) {
      const { status, body } = await ask(each);
      expect({ each, status, code: body.code }).toEqual({ each, status: 403, code: "foreign_tenant" });
    }
    for (const own of spellings(clinic.id)) expect((await ask(own)).status).toBeLessThan(300);
    const { rows } = await service.database.owner.query(
      `select (select count(*)::integer from users where tenant_id = $1) + (select count(*)::integer from departments where tenant_id = $1) as made`,
      [otherId],
    );
    expect(rows).toEqual([{ made: 0 }]);
  });
});

const callerOf = (role: Role, tenantId: number): Caller =>
  new Caller({
    principal: {
      kind: "user",
      userId: 1,
      tenantId,
      role,
      departmentId: null,
      canSeeAllPatients: true,
      sessionId: crypto.randomUUID(),
      readAt: Date.now(),
    },
    via: "test",
    requestId: crypto.randomUUID(),
    ip: null,
    userAgent: null,
  });

describe("the walls behind the door", () => {
  const admin = callerOf("admin", 4);

  it("what validation reads as another tenant, the guard has refused", () => {
    const read = readInteger({ type: "integer" });
    const odd = [
      "4",
      "0_5",
      "5_0",
      "5.0",
      "+5",
      "-5",
      "5e0",
      "0x5",
      "٥",
      "5_",
      "_5",
      "",
      " ",
      "\ufeff5",
      "5n",
      "1_0.0_0",
    ];
    const given: unknown[] = [
      ...odd,
      ...spellings(57),
      true,
      false,
      5,
      5.5,
      -0,
      1e300,
      Infinity,
      null,
      [5],
      { a: 5 },
    ];
    for (const each of given) {
      const means = read(each, []);
      const refused = () => assertOwnTenant(admin, { tenant_id: each });
      if (typeof means === "number" && means !== 4) expect(refused).toThrow("This tenant is not yours");
      else if (means === 4) expect(refused).not.toThrow();
    }
  });

  it("an action does not act where its caller may not", () => {
    expect(tenantToActIn(admin, undefined)).toBe(4);
    expect(tenantToActIn(admin, 4)).toBe(4);
    expect(() => tenantToActIn(admin, 5)).toThrow("This tenant is not yours");
    expect(tenantToActIn(callerOf("superadmin", 1), 5)).toBe(5);
  });
});
