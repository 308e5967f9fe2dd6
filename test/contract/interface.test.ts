// The route table against the interface: its operations are exactly as written there. Operations of ours are those that
// test/contract/walk/rules.ts lists besides; there stands for every operation who may call it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { contractOf, type Route, routes } from "../../services/api-gateway/routes.ts";
import { rules } from "./walk/rules.ts";

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

const file = join(import.meta.dirname, "./operations.json");
const operations: Operation[] = JSON.parse(readFileSync(file, "utf8"));

/** Body fields of ours in operations of the interface. */
const oursIn: Record<string, readonly string[]> = {
  "POST /api/auth/verify-email": ["password", "new_password"],
};

const keyOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
const routeOf = new Map<string, Route>(routes.map((route) => [keyOf(route), route]));

describe("the interface", () => {
  it.each(operations.map((operation) => [keyOf(operation), operation] as const))(
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
    operations.flatMap((operation) =>
      Object.entries(operation.query ?? {}).map(([name, kind]) => [keyOf(operation), name, kind] as const),
    ),
  )("%s: query %s is %s", (key, name, kind) => {
    const route = routeOf.get(key);
    const shape = route === undefined ? undefined : contractOf(route).query?.[name];
    expect(shape).toBeDefined();
    const required = shape?.optional !== true && shape?.default === undefined;
    expect(required).toBe(kind.endsWith("!"));
  });
  it("every other route is one of ours, and stands in the table of who may call what", () => {
    const expected = new Set([...operations.map(keyOf), ...Object.keys(rules)]);
    expect([...routeOf.keys()].sort()).toEqual([...expected].sort());
  });
});
