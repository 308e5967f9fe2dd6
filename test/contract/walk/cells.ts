// The cells of the walk: every operation × caller × state of the tenant × place of the id, and the request each one
// stands for. A request that changes something is made of rows of its own, so that no cell is judged by what another
// one left behind; reads and refused requests share theirs.
import type { Route } from "../../../services/api-gateway/routes.ts";
import { callers, type CallerName, type Expected, expected, type Id, roleOf, type Rule } from "./rules.ts";
import type { WireRequest } from "./wire.ts";
import {
  deliveryIdOf,
  type Kind,
  kinds,
  neverId,
  type Person,
  password,
  type Tenant,
  type World,
} from "./world.ts";

export interface Cell {
  name: string;
  caller: CallerName;
  kind: Kind;
  /** Declared by the operation, or undefined: then `place` carries ids it does not know. */
  id: Id | undefined;
  place: Id["place"];
  expected: Expected;
}

/** All cells of one operation. Each place has one: of its declared ids, or of ids the operation does not know. */
export function cellsOf(operation: string, rule: Rule): Cell[] {
  const places: { place: Id["place"]; id: Id | undefined }[] = rule.ids.map((id) => ({
    place: id.place,
    id,
  }));
  for (const place of ["query", "body"] as const) {
    if (!rule.ids.some((id) => id.place === place)) places.push({ place, id: undefined });
  }
  return callers.flatMap((caller) =>
    places.flatMap(({ place, id }) =>
      kinds.map((kind) => ({
        name: `${operation} by ${caller}, ${kind} ${id?.name ?? "unknown ids"} in ${place}`,
        caller,
        kind,
        id,
        place,
        expected: expected(rule, caller, kind, id),
      })),
    ),
  );
}

type Values = Record<string, unknown>;
interface Draft {
  path: Values;
  query: Values;
  body: Values;
}

/** What makes each operation succeed for who may: ids of rows in `own`, everything else new. */
type Draw = (rows: Rows, own: Tenant) => Promise<Partial<Draft>>;

const drafts: Readonly<Record<string, Draw>> = {
  "GET /api/auth/departments": async (_rows, own) => ({ query: { subdomain: own.subdomain } }),
  "POST /api/auth/login": async (rows, own) => {
    const { email } = await rows.user(own.id);
    return { body: { email, password, subdomain: own.subdomain } };
  },
  "POST /api/auth/register": async (rows, own) => {
    const email = `new-${rows.unique()}@people.example`;
    return { body: { email, password, full_name: "New Person", role: "nurse", subdomain: own.subdomain } };
  },
  "POST /api/auth/request-reset": mailDraft,
  "POST /api/auth/resend-verification": mailDraft,
  "POST /api/auth/verify-email": async (rows, own) => ({
    query: { token: await rows.mailToken(own.id, "verify_email") },
  }),
  "POST /api/auth/reset-password": async (rows, own) => ({
    body: {
      token: await rows.mailToken(own.id, "reset_password"),
      new_password: "Correct-Horse-99",
    },
  }),
  "PUT /api/preferences": async (rows) => ({ body: { settings: { note: rows.unique() } } }),
  "PUT /api/preferences/theme": async () => ({ body: { theme: "dark" } }),
  "POST /api/messenger/link": async () => ({ body: { code: "BCDF-GHJK" } }),
  "POST /api/messenger/subscribe": async () => ({ body: { events: ["patient.created"] } }),
  "POST /webhooks/telegram": async () => ({ body: { update_id: 1 } }),
  "POST /api/admin/tenants": async (rows) => ({
    body: { name: "New Clinic", subdomain: `new-${rows.unique()}` },
  }),
  "GET /api/admin/tenants/{tenant_id}": async (_rows, own) => ({ path: { tenant_id: own.id } }),
  "PUT /api/admin/tenants/{tenant_id}": async (rows, own) => ({
    path: { tenant_id: own.id },
    body: { name: `Clinic ${rows.unique()}` },
  }),
  "DELETE /api/admin/tenants/{tenant_id}": async (rows) => ({
    path: { tenant_id: (await rows.tenant("other")).id },
  }),
  "POST /api/admin/departments": async (rows) => ({ body: { name: `Unit ${rows.unique()}` } }),
  "PUT /api/admin/departments/{dept_id}": async (rows, own) => ({
    path: { dept_id: await rows.department(own.id) },
    body: { name: `Unit ${rows.unique()}` },
  }),
  "POST /api/admin/users": async (rows) => {
    const email = `made-${rows.unique()}@people.example`;
    return { body: { email, password, full_name: "Made Person", role: "nurse" } };
  },
  "PUT /api/admin/users/{user_id}/role": async () => ({
    body: { role: "nurse" },
  }),
  "POST /api/admin/cache/invalidate": async (rows, own) => ({
    body: { patient_id: await rows.patient(own.id) },
  }),
  "POST /api/admin/cache/warmup": async (rows, own) => ({
    body: { patient_ids: [await rows.patient(own.id)] },
  }),
  "POST /api/admin/encryption/rotate": async () => ({ body: { new_key: "too short" } }),
  "POST /api/admin/backup/create": async () => ({ body: { type: "neither" } }),
  "GET /api/admin/backup/download/{backup_id}": async () => ({ path: { backup_id: noBackup } }),
  "POST /api/admin/backup/download-ticket/{backup_id}": async () => ({ path: { backup_id: noBackup } }),
  "POST /api/admin/backup/restore": async () => ({ body: { backup_id: noBackup } }),
  "GET /api/admin/backup/status/{job_id}": async () => ({ path: { job_id: crypto.randomUUID() } }),
  "DELETE /api/admin/backup/{backup_id}": async () => ({ path: { backup_id: noBackup } }),
  "POST /api/admin/self-healing/confirm/{fix_id}": async () => ({ path: { fix_id: neverId } }),
  "DELETE /api/admin/self-healing/fixes/{fix_id}": async () => ({ path: { fix_id: neverId } }),
  "GET /api/admin/payments/{payment_id}": async () => ({ path: { payment_id: neverId } }),
  "GET /api/backup-download/{ticket}": async () => ({ path: { ticket: noBackup } }),
  "POST /webhooks/card-provider": async (rows) => ({ body: { id: `card-${rows.unique()}`, type: "none" } }),
  "POST /webhooks/wallet-provider": async (rows) => ({
    body: { id: `wallet-${rows.unique()}`, type: "none" },
  }),
  "POST /api/webhooks/register": async (rows, own) => {
    await rows.world.makeRoomForWebhooks(own.id);
    return { body: webhookBody };
  },
  "PUT /api/webhooks/{webhook_id}": async (rows, own) => ({
    ...(await webhookDraft(rows, own)),
    body: { events: ["restore.failed"] },
  }),
  "DELETE /api/webhooks/{webhook_id}": webhookDraft,
  "POST /api/webhooks/{webhook_id}/test": webhookDraft,
  "GET /api/webhooks/{webhook_id}/deliveries": webhookDraft,
  "POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/resend": webhookDraft,
  "POST /api/webhooks/{webhook_id}/recover": async (rows, own) => ({
    ...(await webhookDraft(rows, own)),
    body: { since: "2026-01-01" },
  }),
  "POST /api/patients": async (rows) => ({
    body: { record_number: `N-${rows.unique()}`, full_name: "New Patient" },
  }),
  "PUT /api/patients/{patient_id}": async (rows) => ({
    body: { version: 1, notes: rows.unique() },
  }),
  "POST /api/patients/{patient_id}/records": async (rows) => ({
    body: { kind: "visit", body: rows.unique() },
  }),
};

const noBackup = `bk_${"0".repeat(32)}`;

/** Of events that the walk does not make, so that nothing happens in the background. */
const webhookBody = { url: "https://93.184.215.14/hook", events: ["restore.succeeded"] };

async function webhookDraft(rows: Rows, own: Tenant): Promise<Partial<Draft>> {
  return { path: { webhook_id: await rows.webhook(own.id) } };
}

async function mailDraft(rows: Rows, own: Tenant): Promise<Partial<Draft>> {
  const { email } = await rows.user(own.id);
  return { body: { email, subdomain: own.subdomain } };
}

/** For a path, the id of a row of the caller's own tenant; what an operation needs besides stands in `drafts`. */
const rowOf: Readonly<Record<string, (rows: Rows, own: Tenant) => Promise<number>>> = {
  tenant_id: (_rows, own) => Promise.resolve(own.id),
  user_id: async (rows, own) => (await rows.user(own.id)).id,
  dept_id: (rows, own) => rows.department(own.id),
  patient_id: (rows, own) => rows.patient(own.id),
  webhook_id: (rows, own) => rows.webhook(own.id),
};

async function pathDraft(rows: Rows, own: Tenant, path: string): Promise<Values> {
  const drawn: Values = {};
  for (const [, name = ""] of path.matchAll(/\{(\w+)\}/g)) drawn[name] = await rowOf[name]?.(rows, own);
  return drawn;
}

/** Makes the rows that the cell is about and answers its request, without a token. */
export async function requestOf(rows: Rows, route: Route, cell: Cell): Promise<WireRequest> {
  const operation = `${route.method} ${route.path}`;
  const { caller, kind, id, place } = cell;
  const { tenants } = rows.world;
  // Whoever is not signed in is taken for someone who would be at home in the same tenant as the others.
  const own = roleOf(caller) === "superadmin" && !isJoining(operation) ? tenants.platform : tenants.own;
  const tenant = kind === "own" ? own : kind === "never" ? undefined : tenants[kind];
  const drawn = await drafts[operation]?.(rows, own);
  const path = drawn?.path ?? (await pathDraft(rows, own, route.path));
  const draft: Draft = { query: {}, body: {}, ...drawn, path };
  // What the operation itself needs under such a name stays: a notification has an `id` of its own.
  if (id === undefined) draft[place] = { ...(await foreignIds(rows, tenant)), ...draft[place] };
  else draft[place][id.name] = await valueOf(rows, cell, id, tenant, operation);
  if (id?.of === "subdomain" && tenant !== undefined) await moveAccount(rows, draft, tenant);
  if ("webhook_id" in draft.path) draft.path.delivery_id = deliveryIdOf(Number(draft.path.webhook_id));
  const target = route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(draft.path[name]));
  const query = new URLSearchParams(
    Object.entries(draft.query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const hasBody = Object.keys(draft.body).length > 0;
  return {
    method: route.method,
    path: query.size === 0 ? target : `${target}?${query}`,
    ...(hasBody ? { headers: { "content-type": "application/json" }, body: JSON.stringify(draft.body) } : {}),
  };
}

/** Operations without a token know no caller's tenant: own is the demo tenant for all. */
function isJoining(operation: string): boolean {
  return / \/api\/auth\/(?!me|logout)/.test(operation);
}

async function valueOf(
  rows: Rows,
  { kind }: Cell,
  id: Id,
  tenant: Tenant | undefined,
  operation: string,
): Promise<unknown> {
  // A tenant that is deleted by the call must not be one that other cells need.
  const deletes = operation === "DELETE /api/admin/tenants/{tenant_id}";
  if (id.of === "tenant" && deletes && (kind === "other" || kind === "inactive"))
    return (await rows.tenant(kind)).id;
  if (id.of === "tenant") return tenant?.id ?? neverId;
  if (id.of === "department") return tenant === undefined ? neverId : rows.department(tenant.id);
  if (id.of === "user") return tenant === undefined ? neverId : (await rows.user(tenant.id)).id;
  if (id.of === "patient") return tenant === undefined ? neverId : rows.patient(tenant.id);
  if (id.of === "webhook") return tenant === undefined ? neverId : rows.webhook(tenant.id);
  if (id.of === "subdomain") return tenant?.subdomain ?? "never-was";
  const mail = operation.includes("reset") ? "reset_password" : "verify_email";
  return tenant === undefined ? "A".repeat(43) : rows.mailToken(tenant.id, mail);
}

/** Signing in and asking for mails name an account of that very tenant. */
async function moveAccount(rows: Rows, draft: Draft, tenant: Tenant): Promise<void> {
  if (!("email" in draft.body) || "full_name" in draft.body) return;
  draft.body.email = (await rows.user(tenant.id)).email;
}

/** Ids that mean something elsewhere, under the names they have there. */
async function foreignIds(rows: Rows, tenant: Tenant | undefined): Promise<Values> {
  if (tenant === undefined)
    return {
      tenant_id: neverId,
      user_id: neverId,
      dept_id: neverId,
      patient_id: neverId,
      webhook_id: neverId,
    };
  const user = await rows.user(tenant.id);
  const [dept_id, patient_id] = [await rows.department(tenant.id), await rows.patient(tenant.id)];
  const webhook_id = await rows.webhook(tenant.id);
  return { tenant_id: tenant.id, user_id: user.id, id: user.id, dept_id, patient_id, webhook_id };
}

/** Where a cell's rows come from: new ones for each cell, or the same ones for all. */
export class Rows {
  readonly world: World;
  readonly #shared: Map<string, Promise<unknown>> | undefined;

  constructor(world: World, { shared }: { shared: boolean }) {
    this.world = world;
    this.#shared = shared ? new Map() : undefined;
  }

  user(tenantId: number): Promise<Person> {
    return this.#row(`user ${tenantId}`, () => this.world.addUser(tenantId));
  }

  department(tenantId: number): Promise<number> {
    return this.#row(`department ${tenantId}`, () => this.world.addDepartment(tenantId));
  }

  patient(tenantId: number): Promise<number> {
    return this.#row(`patient ${tenantId}`, () => this.world.addPatient(tenantId));
  }

  webhook(tenantId: number): Promise<number> {
    return this.#row(`webhook ${tenantId}`, () =>
      this.world.addWebhook(tenantId, this.#shared !== undefined),
    );
  }

  tenant(kind: "other" | "inactive"): Promise<Tenant> {
    return this.#row(`tenant ${kind}`, () => this.world.addTenant({ is_active: kind === "other" }));
  }

  mailToken(tenantId: number, kind: "verify_email" | "reset_password"): Promise<string> {
    return this.#row(`${kind} ${tenantId}`, async () => {
      return this.world.addMailToken(await this.world.addUser(tenantId), kind);
    });
  }

  unique(): string {
    return this.world.unique();
  }

  #row<T>(name: string, make: () => Promise<T>): Promise<T> {
    if (this.#shared === undefined) return make();
    const made = this.#shared.get(name) ?? make();
    this.#shared.set(name, made);
    // Each name is only ever asked for by one method, so what it holds is what that method makes.
    return made as Promise<T>;
  }
}
