// JSON schemas of the bare program's requests and answers: Fastify compiles its validators and serialisers from them.

const text = { type: "string" };
const integer = { type: "integer" };
const flag = { type: "boolean" };
const nullableInteger = { type: ["integer", "null"] };
const head = { id: integer, email: text, full_name: text, role: text, tenant_id: integer };
const tail = {
  can_see_all_patients: flag,
  is_active: flag,
  email_verified: flag,
  created_at: { type: "string", format: "date-time" },
};

function answer(properties: object) {
  return { 200: { type: "object", properties } };
}

export const profileSchema = {
  response: answer({
    ...head,
    department_id: nullableInteger,
    department: { type: ["object", "null"], properties: { id: integer, name: text } },
    ...tail,
  }),
};

export const listSchema = {
  querystring: {
    type: "object",
    properties: {
      page: { ...integer, minimum: 1, default: 1 },
      limit: { ...integer, minimum: 1, maximum: 200, default: 50 },
    },
  },
  response: answer({
    items: {
      type: "array",
      items: { type: "object", properties: { ...head, department_id: nullableInteger, ...tail } },
    },
    total: integer,
    page: integer,
    limit: integer,
    pages: integer,
  }),
};

export const loginSchema = {
  body: {
    type: "object",
    required: ["email", "password", "subdomain"],
    properties: { email: text, password: text, subdomain: text },
  },
  response: answer({ access_token: text, token_type: text, tenant_id: integer, role: text, demo_mode: flag }),
};
