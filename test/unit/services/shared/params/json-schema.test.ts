/** JSON Schema and OpenAPI parameters made from rules. */
import { describe, expect, it } from "@jest/globals";
import { toJsonSchema } from "../../../../../services/shared/params/json-schema.ts";
import {
  emptyIsNull,
  inHeader,
  nullable,
  optional,
  withDefault,
} from "../../../../../services/shared/params/modifiers.ts";
import { parametersAndBody } from "../../../../../services/shared/params/openapi.ts";
import { date, json, object, timestamp } from "../../../../../services/shared/params/results.ts";
import {
  dateOrTime,
  dictionary,
  email,
  flag,
  id,
  integer,
  listOf,
  oneOf,
  pathId,
  secretText,
  text,
  url,
} from "../../../../../services/shared/params/rules.ts";
import type { AnyRule } from "../../../../../services/shared/params/types.ts";

const idSchema = { type: "integer", minimum: 1, maximum: 2147483647 };

describe("the schema of", () => {
  const table: [string, AnyRule, object][] = [
    ["any text", text(), { type: "string" }],
    [
      "a bounded text",
      text({ min: 1, max: 9, pattern: /^a/i, trim: true, description: "Why" }),
      { type: "string", minLength: 1, maxLength: 9, pattern: "^a", description: "Why" },
    ],
    ["a password", secretText({ min: 8 }), { type: "string", minLength: 8, format: "password" }],
    ["an e-mail", email(), { type: "string", format: "email", maxLength: 254 }],
    ["a URL", url(), { type: "string", format: "uri", maxLength: 2048 }],
    ["an integer", integer(), { type: "integer" }],
    ["an id", id(), idSchema],
    ["an id in the path", pathId(), idSchema],
    ["a defaulted integer", integer({ min: 1, default: 50 }), { type: "integer", minimum: 1, default: 50 }],
    ["a boolean", flag(), { type: "boolean" }],
    ["words", oneOf(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    ["words or null", nullable(oneOf(["a", "b"])), { type: ["string", "null"], enum: ["a", "b", null] }],
    ["an id or null", nullable(id()), { ...idSchema, type: ["integer", "null"] }],
    ["empty as null", emptyIsNull(text()), { type: ["string", "null"] }],
    ["null by default", withDefault(nullable(text()), null), { type: ["string", "null"], default: null }],
    [
      "a list",
      listOf(id(), { min: 1, max: 5, unique: true }),
      { type: "array", items: idSchema, minItems: 1, maxItems: 5, uniqueItems: true },
    ],
    [
      "a free object",
      dictionary({ maxBytes: 1, maxDepth: 1 }),
      { type: "object", additionalProperties: true, "x-max-bytes": 1, "x-max-depth": 1 },
    ],
    ["a point in time", timestamp(), { type: "string", format: "date-time" }],
    ["anything", json(), {}],
    ["anything or null", nullable(json()), {}],
    [
      "an object",
      object({ id: id(), name: optional(text()), note: nullable(text()) }),
      {
        type: "object",
        properties: { id: idSchema, name: { type: "string" }, note: { type: ["string", "null"] } },
        required: ["id", "note"],
      },
    ],
    ["an object without fields", object({}), { type: "object", properties: {} }],
  ];

  it.each(table)("%s", (_, rule, schema) => {
    expect(toJsonSchema(rule)).toEqual(schema);
  });

  it("a date or date-time is a plain string, and a date a date: generators know no choice of formats", () => {
    expect(toJsonSchema(nullable(dateOrTime()))).toEqual({
      type: ["string", "null"],
      examples: ["2026-01-31", "2026-01-31T12:00:00Z"],
    });
    expect(toJsonSchema(nullable(dateOrTime({ dateOnly: true })))).toEqual({
      type: ["string", "null"],
      format: "date",
      examples: ["2001-12-31"],
    });
    expect(toJsonSchema(nullable(date()))).toEqual({ type: ["string", "null"], format: "date" });
  });

  it("a named object bears its name as title", () => {
    expect(toJsonSchema(object({}, { name: "User" }))).toMatchObject({ title: "User" });
  });

  it("named objects can be lifted out, wherever they stand", () => {
    const lifted: Record<string, unknown> = {};
    const department = object({ id: id() }, { name: "Department", description: "A ward" });
    const user = object({ department: nullable(department), all: listOf(department) }, { name: "User" });
    const schema = toJsonSchema(user, (name, found) => {
      lifted[name] = found;
      return { $ref: `#/components/schemas/${name}` };
    });
    const reference = { $ref: "#/components/schemas/Department" };
    expect(schema).toEqual({ $ref: "#/components/schemas/User" });
    expect(lifted).toMatchObject({
      Department: { title: "Department", properties: { id: idSchema } },
      User: {
        properties: {
          department: { anyOf: [reference, { type: "null" }], description: "A ward" },
          all: { type: "array", items: { ...reference, description: "A ward" } },
        },
      },
    });
  });
});

describe("the OpenAPI parameters", () => {
  it("stand by place, with their wire names; the body is one schema", () => {
    const places = {
      path: { user_id: pathId() },
      query: { page: integer({ default: 1, description: "From 1" }) },
      header: { provider_signature: optional(inHeader(text(), "Provider-Signature")), x_token: text() },
      body: { name: text(), note: optional(text()) },
    };
    expect(parametersAndBody(places)).toEqual({
      parameters: [
        { name: "user_id", in: "path", required: true, schema: idSchema },
        {
          name: "page",
          in: "query",
          required: false,
          schema: { type: "integer", default: 1 },
          description: "From 1",
        },
        { name: "Provider-Signature", in: "header", required: false, schema: { type: "string" } },
        { name: "x-token", in: "header", required: true, schema: { type: "string" } },
      ],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: { name: { type: "string" }, note: { type: "string" } },
              required: ["name"],
            },
          },
        },
      },
    });
  });

  it("without a body have no request body", () => {
    expect(parametersAndBody({})).toEqual({ parameters: [] });
    expect(parametersAndBody({ body: {} })).toEqual({ parameters: [] });
  });

  it("whose body fields may all be absent do not require one", () => {
    expect(parametersAndBody({ body: { a: optional(text()), b: withDefault(flag(), true) } })).toMatchObject({
      requestBody: { required: false },
    });
  });
});
