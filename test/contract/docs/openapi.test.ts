/** The OpenAPI document as a value: valid, complete, and in agreement with the interface and the decisions. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import { openApiDocument } from "../../../services/api-gateway/openapi.ts";
import type { ActionContract } from "../../../services/shared/bus/bus.ts";
import { compileParams } from "../../../services/shared/params/compile.ts";
import { resultFaults } from "../../support/result-faults.ts";
import { object } from "../../../services/shared/params/results.ts";
import { eventKinds } from "../../../services/shared/event-kinds.ts";
import { findFaultsContract } from "../../../mixins/healing/port.ts";
import { contractOf, contracts, type Route, routes } from "../../../services/api-gateway/routes.ts";
import { version } from "../../../services/shared/version.ts";

const facts = { publicUrl: "https://records.example", demoSignIn: false };

interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
  anyOf?: Schema[];
  additionalProperties?: unknown;
  "x-max-bytes"?: number;
  "x-max-depth"?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  maxLength?: number;
}
interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: object[];
  parameters?: { name: string; in: string; required: boolean; schema: Schema; description?: string }[];
  requestBody?: { required: boolean; content: { "application/json": { schema: Schema; example?: unknown } } };
  responses: Record<string, { $ref?: string; content?: { "application/json": { schema: Schema } } }>;
}
interface Document {
  openapi: string;
  info: { version: string; license: object };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post?: Operation }>;
  components: Record<string, Record<string, object>>;
}

// The document is typed as an object on purpose; its shape is what this file proves.
const documentOf = (those: readonly Route[], about = facts) => openApiDocument(those, about) as Document;
const document = documentOf(routes);
const operationOf = (method: string, path: string): Operation => {
  const found = document.paths[path]?.[method.toLowerCase()];
  if (found === undefined) throw new Error(`${method} ${path} is not described`);
  return found;
};
/** What a reference leads to, else the schema itself. */
function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  return document.components.schemas?.[schema.$ref.split("/").at(-1) ?? ""] ?? {};
}
const bodyOf = (operation: Operation): Schema =>
  resolved(operation.requestBody?.content["application/json"].schema ?? {});
/** The codes of a status. */
function codesOf(operation: Operation, status: number): unknown[] | undefined {
  const answer = operation.responses[status];
  const shared = document.components.responses?.[answer?.$ref?.split("/").at(-1) ?? ""];
  const told: Operation["responses"][string] | undefined = shared ?? answer;
  const schema = resolved(told?.content?.["application/json"]?.schema ?? {});
  return schema.properties?.code?.enum;
}
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe("the document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document) as never);
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("is refused by the validator when something is wrong with it", async () => {
    const broken = { ...structuredClone(document), info: {} };
    expect((await new Validator().validate(broken as never)).valid).toBe(false);
  });

  it("has no reference that leads nowhere, and no component that nothing refers to", () => {
    const text = JSON.stringify(document);
    const references = new Set([...text.matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, to]) => to));
    const components = Object.entries(document.components).flatMap(([kind, byName]) =>
      kind === "securitySchemes" ? [] : Object.keys(byName).map((name) => `${kind}/${name}`),
    );
    expect([...references].sort()).toEqual(components.sort());
    expect(text).not.toMatch(/"\$ref":"(?!#\/components\/)/);
  });

  it("names version and licence", () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info).toMatchObject({ version, license: { name: "MIT" } });
  });

  it("gives every operation its own id and the group of its route", () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(routes.length);
    const names = document.tags.map(({ name }) => name);
    expect([...names].sort()).toEqual([...new Set(routes.map(({ group }) => group)), "Events"].sort());
    expect(names.slice(0, 4)).toEqual(["Authentication", "Current user", "Patients", "Users"]);
  });

  it("has FastAPI's names for what a 422 answers", () => {
    expect(document.components.schemas).toMatchObject({
      HTTPValidationError: {
        properties: { detail: { type: "array", items: { $ref: "#/components/schemas/ValidationError" } } },
      },
      ValidationError: { required: ["loc", "msg", "type"] },
      NotFoundError: { required: ["detail", "code"] },
    });
  });
});

describe("every route", () => {
  it("is described, and nothing else", () => {
    expect(operations).toHaveLength(routes.length);
  });

  it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_name, route) => {
    const operation = operationOf(route.method, route.path);
    const contract = contractOf(route);
    const isOpen = contract.access.who === "public";
    expect(operation.tags).toEqual([route.group]);
    expect(operation.summary).toBe(contract.summary);
    expect(operation.security).toEqual(isOpen ? [] : [{ bearerAuth: [] }]);
    const statuses = Object.keys(operation.responses).map(Number);
    expect(statuses.filter((status) => status < 300)).toEqual([route.status]);
    const content = operation.responses[route.status]?.content;
    expect(content === undefined).toBe(route.status === 204);
    if (!isOpen) expect(statuses).toContain(401);
    expect(statuses).toContain(429);
    const inPath = (operation.parameters ?? []).filter((each) => each.in === "path");
    expect(inPath.map(({ name }) => `{${name}}`)).toEqual(route.path.match(/\{\w+\}/g) ?? []);
    expect(operation.requestBody?.required).toBe(
      contract.body === undefined ? undefined : contract.bodyOptional !== true,
    );
  });
});

describe("who may call stands in words", () => {
  it.each([
    ["POST", "/api/auth/login", "Open to anyone, without a token."],
    ["GET", "/api/users/me", "For every signed-in user."],
    ["POST", "/api/admin/tenants", "For `superadmin`."],
    ["POST", "/api/admin/users", "For `superadmin` and `admin`."],
    ["GET", "/api/admin/users", "For `superadmin`, `admin` and `head_doctor`."],
  ])("%s %s", (method, path, sentence) => {
    expect(operationOf(method, path).description).toBe(sentence);
  });
});

describe("the answers of", () => {
  it.each([
    ["POST", "/api/auth/login", [200, 401, 403, 422]],
    ["POST", "/api/auth/register", [201, 403, 404, 409, 422]],
    ["POST", "/api/auth/verify-email", [200, 400, 422]],
    ["GET", "/api/auth/tenants", [200]],
    ["GET", "/api/users/me", [200, 401]],
    ["POST", "/api/auth/logout", [204, 401]],
    ["GET", "/api/admin/audit", [200, 401, 403, 422]],
    ["PUT", "/api/admin/tenants/{tenant_id}", [200, 401, 403, 404, 409, 422]],
    ["DELETE", "/api/admin/users/{user_id}", [204, 401, 403, 404, 409, 422]],
    ["GET", "/api/patients", [200, 401, 422]],
    ["POST", "/api/patients", [201, 401, 403, 409, 422]],
    ["PUT", "/api/patients/{patient_id}", [200, 401, 403, 404, 409, 422]],
    ["DELETE", "/api/patients/{patient_id}", [204, 401, 404, 422]],
    ["POST", "/webhooks/card-provider", [200, 400, 409, 422]],
    ["POST", "/webhooks/wallet-provider", [200, 400, 409]],
    ["GET", "/api/admin/payments", [200, 401, 403, 422]],
    ["POST", "/api/webhooks/{webhook_id}/test", [200, 401, 403, 404, 422]],
    ["POST", "/api/messenger/link", [200, 400, 401, 409, 422]],
    ["DELETE", "/api/messenger/link", [200, 401]],
    ["POST", "/api/messenger/subscribe", [200, 401, 403, 409, 422]],
    ["POST", "/webhooks/telegram", [200, 400, 403, 404]],
  ])("%s %s", (method, path, statuses) => {
    const described = Object.keys(operationOf(method, path).responses).map(Number);
    const { body } = contractOf(
      routes.find((route) => route.method === method && route.path === path) as Route,
    );
    const always = [400, 408, 413, 429, 431, 503, ...(body === undefined ? [] : [415])];
    expect(described).toEqual([...new Set([...statuses, ...always])].sort((a, b) => a - b));
  });
});

describe("the codes of", () => {
  it.each([
    ["POST", "/api/auth/login", 401, ["invalid_credentials"]],
    ["POST", "/api/auth/login", 403, ["account_pending", "account_blocked", "email_not_verified"]],
    ["POST", "/api/admin/users", 403, ["forbidden", "foreign_tenant", "role_too_high"]],
    ["POST", "/api/admin/users", 409, ["email_taken"]],
    ["DELETE", "/api/admin/users/{user_id}", 409, ["own_account", "last_admin", "last_superadmin"]],
    ["PUT", "/api/patients/{patient_id}", 409, ["record_number_taken", "stale_version"]],
    ["GET", "/api/users/me", 401, ["not_authenticated", "invalid_token"]],
    [
      "GET",
      "/api/users/me",
      503,
      ["unavailable", "busy", "overloaded", "answer_too_large", "tenant_restoring"],
    ],
  ] as const)("%s %s with %i", (method, path, status, codes) => {
    expect(codesOf(operationOf(method, path), status)).toEqual(codes);
  });

  it("every refusal are named, and each is a word", () => {
    for (const operation of operations) {
      for (const status of Object.keys(operation.responses).map(Number)) {
        if (status < 400 || status === 422) continue;
        const codes = codesOf(operation, status) ?? [];
        expect([operation.operationId, status, codes.length > 0]).toEqual([
          operation.operationId,
          status,
          true,
        ]);
        for (const code of codes) expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
      }
    }
  });

  it("all that a service throws stand in a contract", () => {
    const stated = new Set(
      operations.flatMap((operation) =>
        Object.keys(operation.responses).flatMap((status) => codesOf(operation, Number(status)) ?? []),
      ),
    );
    // What operators alone may call has no route.
    const inner: ActionContract[] = [...Object.values(contracts), findFaultsContract];
    for (const { refuses = {} } of inner) for (const code of Object.values(refuses).flat()) stated.add(code);
    const folder = new URL("../../../services", import.meta.url).pathname;
    const thrown = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .flatMap((file) => {
        const text = readFileSync(join(folder, file), "utf8");
        const found = text.matchAll(
          /\b(?:BadRequest|Unauthorized|Forbidden|Conflict|Unavailable|ServiceError)\(\s*(?:\d+,\s*)?"([a-z_]+)"/g,
        );
        return [...found].map(([, code]) => `${file}: ${code}`);
      });
    expect(thrown.length).toBeGreaterThan(60);
    // The one word of 405, which no operation answers.
    const unstated = thrown.filter((each) => !stated.has(each.split(": ")[1]));
    expect(unstated.filter((each) => !each.endsWith(": method_not_allowed"))).toEqual([]);
  });
});

describe("what a reader needs", () => {
  it("every parameter has a description", () => {
    const bare = operations.flatMap(({ operationId, parameters = [] }) =>
      parameters
        .filter(({ description = "" }) => description.length < 5)
        .map(({ name }) => `${operationId} ${name}`),
    );
    expect(bare).toEqual([]);
  });

  it.each(
    routes
      .filter((route) => contractOf(route).body !== undefined)
      .map((route) => [route.action, route] as const),
  )("%s: its body has an example that the contract takes", (_name, route) => {
    const operation = operationOf(route.method, route.path);
    const example = operation.requestBody?.content["application/json"].example;
    expect(example).toEqual(expect.any(Object));
    const { body, rawBody } = contractOf(route);
    // Of what is signed the gateway reads nothing, so its fields are a result's.
    if (rawBody !== undefined) return expect(resultFaults(object(rawBody.fields), example)).toEqual([]);
    const checked = compileParams({ body: body ?? {} })({ ...(example as object) });
    expect(checked).not.toHaveProperty("failures");
  });

  it("bounds and patterns are those that are checked", () => {
    const parameter = (path: string, name: string) =>
      operationOf("GET", path).parameters?.find((each) => each.name === name)?.schema;
    const field = (method: string, path: string, name: string) =>
      bodyOf(operationOf(method, path)).properties?.[name];
    expect(parameter("/api/admin/users", "page")).toMatchObject({ minimum: 1, maximum: 100_001, default: 1 });
    expect(parameter("/api/admin/users", "limit")).toMatchObject({ minimum: 1, maximum: 200, default: 50 });
    const samples: [Schema | undefined, string[], string[]][] = [
      [
        field("POST", "/api/admin/tenants", "subdomain"),
        ["abc", "A-1", "x".repeat(63)],
        ["ab", "-ab", "a_b", "x".repeat(64)],
      ],
      [field("POST", "/api/patients", "phone"), ["+49 30 1234", "(030) 12/34"], ["call me", "+", "1+2"]],
      [
        parameter("/api/admin/audit", "action"),
        ["user.block", "user.*", "auth.login"],
        ["*", "user.", "User.x", "a b"],
      ],
      [
        field("POST", "/api/admin/encryption/rotate", "new_key"),
        ["ab".repeat(32), `${"A".repeat(43)}=`, "_".repeat(43)],
        ["short", "g".repeat(64), "A".repeat(45)],
      ],
    ];
    for (const [schema, good, bad] of samples) {
      const pattern = new RegExp(schema?.pattern ?? "none", "u");
      expect(good.filter((each) => !pattern.test(each))).toEqual([]);
      expect(
        bad.filter((each) => pattern.test(each) && each.length <= (schema?.maxLength ?? Infinity)),
      ).toEqual([]);
    }
  });
});

describe("what is free", () => {
  const settingsOf = (method: string, path: string) =>
    bodyOf(operationOf(method, path)).properties?.settings ?? {};
  const rows = [
    ["POST", "/api/admin/tenants", "TenantSettings", { name: "North", subdomain: "north" }],
    ["PUT", "/api/admin/tenants/{tenant_id}", "TenantSettings", {}],
    ["PUT", "/api/preferences", "PreferenceSettings", {}],
  ] as const;

  it.each(rows)("settings of %s %s have the bounds that are checked", (method, path, name, others) => {
    expect(nameIn(settingsOf(method, path))).toBe(name);
    const { "x-max-bytes": bytes = 0, "x-max-depth": depth = 0 } = resolved(settingsOf(method, path));
    const { body = {} } = contractOf(
      routes.find((route) => route.method === method && route.path === path) as Route,
    );
    const check = compileParams({ body });
    const takes = (settings: object) => !("failures" in check({ ...others, settings }));
    const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
    const around = JSON.stringify({ a: "" }).length;
    expect([depth, depth + 1].map((levels) => takes(nested(levels)))).toEqual([true, false]);
    expect([bytes, bytes + 1].map((size) => takes({ a: "x".repeat(size - around) }))).toEqual([true, false]);
  });

  it("the one key that means something is named, with its words", () => {
    const { properties, additionalProperties } = resolved(settingsOf("POST", "/api/admin/tenants"));
    expect(resolved(properties?.registration ?? {}).enum).toEqual(["open", "approval", "closed"]);
    expect(additionalProperties).toBe(true);
  });

  it("settings are answered in the shape in which they are taken", () => {
    for (const [of, name] of [
      ["Tenant", "TenantSettings"],
      ["Preferences", "PreferenceSettings"],
    ]) {
      const answered: Schema = document.components.schemas?.[of ?? ""] ?? {};
      expect(nameIn(answered.properties?.settings ?? {})).toBe(name);
    }
  });

  it("what an audit entry says are named facts and plain values", () => {
    const entry: Schema = document.components.schemas?.AuditEntry ?? {};
    expect(nameIn(entry.properties?.changes ?? {})).toBe("AuditChanges");
    const changes = resolved(entry.properties?.changes ?? {});
    expect(changes.properties?.fields).toMatchObject({ type: "array", items: { type: "string" } });
    expect(changes.additionalProperties).toEqual({
      type: ["string", "number", "boolean", "array", "null"],
      items: { type: ["string", "number"] },
    });
  });
});

describe("the events", () => {
  const webhooks = document.webhooks;
  it("are all described, and the test's", () => {
    expect(Object.keys(webhooks)).toEqual([...eventKinds, "webhook.test"]);
  });
  it.each(Object.entries(webhooks))("%s has a message of its own", (kind, { post }) => {
    const message = resolved(post?.requestBody?.content["application/json"].schema ?? {});
    expect(message.required).toEqual(["type", "timestamp", "data"]);
    expect(message.properties?.type?.enum).toEqual([kind]);
    const data = message.properties?.data ?? {};
    expect(Object.keys(resolved(data).properties ?? {}).length).toBeGreaterThan(0);
    // A delivery in the log has the very same payload; a test is not one of them.
    if (kind === "webhook.test") return;
    const schemas: Record<string, Schema> = document.components.schemas ?? {};
    expect(nameIn(schemas.Delivery?.properties?.kind ?? {})).toBe("EventKind");
    expect(nameIn(schemas.Delivery?.properties?.data ?? {})).toBe("EventData");
    expect(schemas.EventData?.anyOf).toContainEqual({ $ref: data.$ref });
    expect(Object.keys(post?.responses ?? {}).sort()).toEqual(["2XX", "410"]);
  });
});

interface Row {
  section: string;
  method: string;
  path: string;
  bearer: boolean;
  success: number;
  path_params?: Record<string, string>;
  query?: Record<string, string>;
  body?: Record<string, string>;
  response: { array?: string; object?: string } | null;
}
const interfaceFile = new URL("../operations.json", import.meta.url);
const covered = new Set(["4.2", "4.3", "4.5", "4.6", "4.7", "4.8"]);
const rows = (JSON.parse(readFileSync(interfaceFile, "utf8")) as Row[]).filter(({ section }) =>
  covered.has(section),
);

/** The type in the interface's words, null left out: "[]string" is a list. */
function wordOf(schema: Schema): string {
  const alternatives = [schema, ...(schema.anyOf ?? [])].map(resolved);
  const types = alternatives.flatMap(({ type = [] }) => type);
  const type = types.find((each) => each !== "null") ?? "any";
  return type === "array" ? `[]${wordOf(schema.items ?? {})}` : type;
}
const typesOf = (fields: Record<string, Schema> = {}) =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, wordOf(schema)]));
const bare = (words: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(words).map(([name, word]) => [name, word.replace(/[?!]$/, "")]));
const nameIn = (reference: Schema) => reference.$ref?.split("/").at(-1);

describe("the interface's row", () => {
  it("is there for every section that is built", () => {
    expect(rows.length).toBeGreaterThan(25);
    expect(new Set(rows.map(({ section }) => section))).toEqual(covered);
  });

  it.each(rows.map((row) => [`${row.method} ${row.path}`, row] as const))("%s agrees", (_name, row) => {
    const operation = operationOf(row.method, row.path);
    expect(operation.security.length > 0).toBe(row.bearer);
    expect(operation.responses[row.success]).toBeDefined();
    const at = (place: string) =>
      Object.fromEntries(
        (operation.parameters ?? []).filter((each) => each.in === place).map((each) => [each.name, each]),
      );
    const schemasAt = (place: string) =>
      Object.fromEntries(Object.entries(at(place)).map(([name, { schema }]) => [name, schema]));
    expect(typesOf(schemasAt("path"))).toEqual(bare(row.path_params));
    expect(typesOf(schemasAt("query"))).toEqual(bare(row.query));
    // Of a body that may be left out the interface says nothing: it is ours.
    const isOurs = operation.requestBody?.required === false;
    if (!isOurs) expect(typesOf(bodyOf(operation).properties)).toEqual(bare(row.body));
    for (const [name, { required }] of Object.entries(at("query"))) {
      expect([name, required]).toEqual([name, row.query?.[name]?.endsWith("!")]);
    }
    const schema = operation.responses[row.success]?.content?.["application/json"].schema ?? {};
    if (row.response?.array !== undefined) expect(nameIn(schema.items ?? {})).toBe(row.response.array);
    // Registration answers the profile, which is the user and the department's name.
    const named = row.path === "/api/auth/register" ? "Profile" : row.response?.object;
    if (named !== undefined) expect(nameIn(schema)).toBe(named);
  });
});

describe("what a body has to hold", () => {
  it.each([
    ["POST", "/api/auth/login", ["email", "password", "subdomain"]],
    ["POST", "/api/auth/register", ["email", "password", "full_name", "role", "subdomain"]],
    ["POST", "/api/auth/request-reset", ["email", "subdomain"]],
    ["POST", "/api/auth/resend-verification", ["email", "subdomain"]],
    ["POST", "/api/auth/reset-password", ["token", "new_password"]],
    ["PUT", "/api/preferences", undefined],
    ["PUT", "/api/preferences/theme", ["theme"]],
    ["POST", "/api/admin/tenants", ["name", "subdomain"]],
    ["PUT", "/api/admin/tenants/{tenant_id}", undefined],
    ["POST", "/api/admin/departments", ["name"]],
    ["PUT", "/api/admin/departments/{dept_id}", undefined],
    ["POST", "/api/admin/users", ["email", "password", "full_name", "role"]],
    ["PUT", "/api/admin/users/{user_id}/role", ["role"]],
    ["POST", "/api/patients", ["record_number", "full_name"]],
    ["PUT", "/api/patients/{patient_id}", ["version"]],
    ["POST", "/api/patients/{patient_id}/records", ["kind", "body"]],
    ["POST", "/webhooks/card-provider", ["id", "type", "created", "data"]],
    ["POST", "/webhooks/wallet-provider", ["id", "type", "occurred_at", "data"]],
  ])("%s %s", (method, path, required) => {
    expect(bodyOf(operationOf(method, path)).required).toEqual(required);
  });

  it.each([
    ["POST", "/api/auth/register", "department_id"],
    ["POST", "/api/admin/departments", "head_doctor_id"],
    ["POST", "/api/admin/departments", "tenant_id"],
    ["PUT", "/api/admin/departments/{dept_id}", "head_doctor_id"],
    ["POST", "/api/admin/users", "tenant_id"],
    ["POST", "/api/admin/users", "department_id"],
  ])("%s %s may say null for %s", (method, path, field) => {
    expect(bodyOf(operationOf(method, path)).properties?.[field]?.type).toEqual(["integer", "null"]);
  });

  it("the body of verify-email may be left out, and so may all in it", () => {
    const operation = operationOf("POST", "/api/auth/verify-email");
    expect(operation.requestBody?.required).toBe(false);
    expect(Object.keys(bodyOf(operation).properties ?? {})).toEqual(["password", "new_password"]);
    expect(bodyOf(operation).required).toBeUndefined();
  });

  it("signing in tells of the hint that its answer carries, and takes it", () => {
    const operation = operationOf("POST", "/api/auth/login");
    expect(operation.responses[200]).toMatchObject({
      headers: { "X-Device-Id": { description: expect.any(String), schema: { type: "string" } } },
    });
    expect(operation.parameters).toMatchObject([{ name: "X-Device-Id", in: "header", required: false }]);
  });

  it("can_see_all_patients is false unless said", () => {
    const fields = bodyOf(operationOf("POST", "/api/admin/users")).properties;
    expect(fields?.can_see_all_patients?.default).toBe(false);
  });
});

describe("the facts of an installation", () => {
  it.each([
    ["https://records.example", "/"],
    ["https://example.org/records", "/records"],
    ["http://localhost:3000", "/"],
  ])("%s is served first by the host that is asked, under %s", (publicUrl, first) => {
    const urls = documentOf(routes, { ...facts, publicUrl }).servers.map(({ url }) => url);
    expect(urls).toEqual([first, publicUrl]);
  });

  it("the published demo password stands in no document but that of a demo", () => {
    expect(JSON.stringify(document)).not.toMatch(/Open-Sesame/);
    expect(JSON.stringify(documentOf(routes, { ...facts, demoSignIn: true }))).toMatch(/Open-Sesame/);
  });

  it("an action for services only cannot be described, so it cannot get a route unnoticed", () => {
    const route = {
      method: "POST",
      path: "/api/x",
      action: "auth.authenticate",
      status: 200,
      group: "X",
    } as const;
    expect(() => documentOf([route])).toThrow("services only");
  });
});
