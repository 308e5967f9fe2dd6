// The OpenAPI 3.1 description of the interface. It is generated from the route table and the contracts, so it cannot differ
// from what the gateway does.
import type { JsonSchema } from "../shared/params/json-schema.ts";
import { publishedDemoPassword } from "../shared/demo-sign-in.ts";
import { version } from "../shared/version.ts";
import { operationOf } from "./openapi-operation.ts";
import { answerComponents } from "./openapi-answers.ts";
import { openApiWebhooks } from "./openapi-webhooks.ts";
import type { Method, Route } from "./routes.ts";

export interface DocumentFacts {
  /** The public address of the service, without a trailing slash. */
  publicUrl: string;
  /** Whether the sign-in example works unchanged: the demo accounts have their published password. */
  demoSignIn: boolean;
}

const introduction = `Tenants, their departments and users, patients and their records, sign-in, and an audit log of
every change and of every reading of a patient.

**Signing in.** \`POST /api/auth/login\` answers an \`access_token\`. Send it with every other call as
\`Authorization: Bearer <access_token>\`; here, paste it under **Authorize**.

**Tenants.** Everybody sees their own tenant alone; only a \`superadmin\` reaches all of them. What belongs to another
tenant is answered like what does not exist: 404.

**Errors** are \`{detail, code}\`: a sentence for people and a word for programs. Parameters that do not hold are
answered with 422 and a list of all their faults, in the words of FastAPI and Pydantic.

**Statuses that no operation lists**: 405 with \`Allow\` where a path has other methods; a method that has no path of its own
is 404. \`HEAD\` is answered wherever \`GET\` is, but for files.

**Events** are told to webhooks; their messages stand under *webhooks* of this document.

**Lists** are \`{items, total, page, limit, pages}\`, from page 1, at most 200 items a page.

**Every answer** carries \`X-Request-Id\`, the name under which logs and the audit log know the call. Points in time are
ISO 8601 in UTC.`;

/** @returns the document as a plain JSON value. @throws when two different schemas have the same name */
export function openApiDocument(routes: readonly Route[], facts: DocumentFacts): object {
  const schemas = new Schemas();
  const operationIds = new Set<string>();
  const paths: Record<string, Partial<Record<Lowercase<Method>, object>>> = {};
  for (const route of routes) {
    const operationId = uniqueId(route, operationIds);
    const operation = operationOf(route, operationId, schemas.lift, signInExample(facts));
    // The lower case of one of four literals is one of four lower-case literals.
    const verb = route.method.toLowerCase() as Lowercase<Method>;
    paths[route.path] = { ...paths[route.path], [verb]: operation };
  }
  const { responses, headers } = answerComponents(schemas.lift);
  const webhooks = openApiWebhooks(schemas.lift);
  return {
    openapi: "3.1.1",
    info: {
      title: "Records service",
      version,
      description: introduction,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: serversOf(facts),
    tags: tagsOf(routes),
    paths,
    webhooks,
    components: {
      securitySchemes: {
        bearerAuth: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "The `access_token` that `POST /api/auth/login` answers.",
        },
      },
      schemas: schemas.sorted(),
      responses,
      headers,
    },
  };
}

/** An action may have two paths; the id of the second includes the words of its path. */
function uniqueId({ action, path }: Route, taken: Set<string>): string {
  const words = path.replace(/^\/api\//, "").replaceAll(/\W+/g, "_");
  const id = taken.has(action) ? `${action}.${words}` : action;
  taken.add(id);
  return id;
}

/** The first server is the host that served the document, so trying a call works under any name of it. */
function serversOf({ publicUrl }: DocumentFacts): object[] {
  const { pathname } = new URL(publicUrl);
  return [
    { url: pathname, description: "Where this description was loaded from" },
    { url: publicUrl, description: "The public address" },
  ];
}

/** In the order in which people need them: sign-in, daily work, administration, notifications, operating. */
const groupsInOrder = [
  "Authentication",
  "Current user",
  "Patients",
  "Users",
  "Departments",
  "Tenants",
  "Webhooks",
  "Events",
  "Messenger",
  "Payments",
  "Audit",
  "Backups",
  "Encryption",
  "Cache",
  "Health",
];

/** A group that is not listed above comes last. */
function tagsOf(routes: readonly Route[]): object[] {
  const there = new Set(["Events", ...routes.map(({ group }) => group)]);
  const known = groupsInOrder.filter((name) => there.has(name));
  return [...new Set([...known, ...there])].map((name) => ({ name }));
}

function signInExample({ demoSignIn }: DocumentFacts): object {
  if (demoSignIn) return { email: "doctor@demo.example", password: publishedDemoPassword, subdomain: "demo" };
  return { email: "ada@clinic.example", password: "correct horse battery staple", subdomain: "clinic" };
}

/** Named objects by their name. */
class Schemas {
  readonly #byName = new Map<string, JsonSchema>();

  readonly lift = (name: string, schema: JsonSchema): JsonSchema => {
    const known = this.#byName.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different objects of the contracts are named ${name}`);
    }
    this.#byName.set(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  };

  sorted(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#byName].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
