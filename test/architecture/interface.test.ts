// The route table against the interface: what is built is exactly as written there, what is ours is listed, and what
// is not built yet is absent, section by section.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { contractOf, type Route, routes } from "../../services/api-gateway/routes.ts";

interface Operation {
  section: string;
  method: string;
  path: string;
  bearer: boolean;
  success: number;
  path_params?: Record<string, string>;
  query?: Record<string, string>;
  body?: Record<string, string>;
}

const file = join(import.meta.dirname, "../interface/operations.json");
const operations: Operation[] = JSON.parse(readFileSync(file, "utf8"));

const built = ["4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.9", "4.10", "4.11", "4.12", "4.13"];
const ours = [
  "DELETE /api/patients/{patient_id}",
  "GET /api/admin/audit/checkpoints",
  "GET /api/admin/audit/export",
  "GET /api/admin/audit/verify",
  "GET /api/admin/encryption/status",
  "GET /api/admin/payments",
  "GET /api/admin/payments/notifications",
  "GET /api/admin/payments/{payment_id}",
  "GET /api/admin/self-healing/incidents",
  "GET /api/backup-download/{ticket}",
  "GET /api/patients",
  "GET /api/patients/{patient_id}",
  "GET /api/patients/{patient_id}/records",
  "GET /api/webhooks/event-types",
  "GET /api/webhooks/{webhook_id}/deliveries",
  "POST /api/admin/backup/download-ticket/{backup_id}",
  "POST /api/admin/self-healing/look",
  "POST /api/auth/logout",
  "POST /api/auth/reset-password",
  "POST /api/patients",
  "POST /api/patients/{patient_id}/records",
  "POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/resend",
  "POST /api/webhooks/{webhook_id}/recover",
  "POST /webhooks/telegram",
  "PUT /api/patients/{patient_id}",
];
/** Body fields of ours in operations of the interface. */
const oursIn: Record<string, readonly string[]> = {
  "POST /api/auth/verify-email": ["password", "new_password"],
};

const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
const routeOf = new Map<string, Route>(routes.map((route) => [keyOf(route), route]));
const due = operations.filter((operation) => built.includes(operation.section));

describe("the interface", () => {
  it.each(due.map((operation) => [keyOf(operation), operation] as const))(
    "%s stands as written",
    (key, operation) => {
      const route = routeOf.get(key);
      if (route === undefined) throw new Error("there is no such route");
      const contract = contractOf(route);
      expect(route.status).toBe(operation.success);
      expect(contract.access.who !== "public").toBe(operation.bearer);
      expect(Object.keys(contract.path ?? {})).toEqual(Object.keys(operation.path_params ?? {}));
      expect(Object.keys(contract.query ?? {}).sort()).toEqual(Object.keys(operation.query ?? {}).sort());
      // Of a body that is taken as it is, the interface lists nothing; and fields of ours may be left out.
      const body = contract.rawBody === undefined ? contract.body : {};
      const fields = Object.entries(body ?? {});
      const added = oursIn[key] ?? [];
      expect(fields.filter(([name, shape]) => added.includes(name) && shape.optional !== true)).toEqual([]);
      const names = fields.map(([name]) => name).filter((name) => !added.includes(name));
      expect(names.sort()).toEqual(Object.keys(operation.body ?? {}).sort());
      if (operation.body === undefined && names.length < fields.length)
        expect(contract.bodyOptional).toBe(true);
    },
  );
  it.each(
    due.flatMap((operation) =>
      Object.entries(operation.query ?? {}).map(([name, kind]) => [keyOf(operation), name, kind] as const),
    ),
  )("%s: query %s is %s", (key, name, kind) => {
    const route = routeOf.get(key);
    const shape = route === undefined ? undefined : contractOf(route).query?.[name];
    expect(shape).toBeDefined();
    const required = shape?.optional !== true && shape?.default === undefined;
    expect(required).toBe(kind.endsWith("!"));
  });
  it("every other route is one of ours", () => {
    const known = new Set(operations.map(keyOf));
    expect([...routeOf.keys()].filter((key) => !known.has(key)).sort()).toEqual(ours);
  });
  it("the sections that are not built yet have no route at all", () => {
    const later = operations.filter((operation) => !due.includes(operation)).map(keyOf);
    expect(later.filter((key) => routeOf.has(key))).toEqual([]);
  });
});
