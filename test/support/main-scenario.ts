// The main scenario of the API on a fresh demo installation, against any base URL. It answers what was answered, with
// moments and random values replaced by their kind, so that two ways of running the service can be compared whole.
import { expect } from "@jest/globals";
import { type Answer, callApi, type CallOptions, demoPassword, eventually, people } from "./service.ts";

export interface Step {
  call: string;
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

type Person = keyof typeof people;
interface Options extends CallOptions {
  as?: Person;
}

const comparedHeaders = ["allow", "www-authenticate", "content-type", "cache-control", "retry-after"];
const isoMoment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const randomFields = new Set(["access_token", "hash", "prev_hash", "request_id", "uptime_s"]);
/** What a schedule changes: a checkpoint may be made, or a log proved, while the scenario runs, or not. */
const scheduledFields = new Set(
  "checkpoints checkpoint_seq audit_ok audit_proved_at audit_checkpoint_at open_incidents looked_at".split(
    " ",
  ),
);

/** A moment must be one of ours to be replaced: anything else stays, and shows as a difference. */
function normalized(value: unknown, field = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => normalized(item, field));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).map(([name, inner]) => [name, normalized(inner, name)]);
  }
  if (randomFields.has(field)) return typeof value;
  if (scheduledFields.has(field)) return "scheduled";
  return typeof value === "string" && field.endsWith("_at") && isoMoment.test(value) ? "moment" : value;
}

class Run {
  readonly steps: Step[] = [];
  readonly #url: string;
  readonly #tokens = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  async signIn(email: string, subdomain: string, password = demoPassword): Promise<string> {
    const answer = await this.call("POST", "/api/auth/login", { body: { email, password, subdomain } });
    return answer.body.access_token;
  }

  async signInAll(): Promise<void> {
    for (const [who, [email, subdomain]] of Object.entries(people)) {
      this.#tokens.set(who, await this.signIn(email, subdomain));
    }
  }

  async call(method: string, path: string, { as, ...options }: Options = {}): Promise<Answer> {
    const token = as === undefined ? options.token : this.#tokens.get(as);
    const answer = await callApi(
      this.#url,
      method,
      path,
      token === undefined ? options : { ...options, token },
    );
    const headers = comparedHeaders.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    this.steps.push({
      call: `${method} ${path}${as === undefined ? "" : ` as ${as}`}`,
      status: answer.status,
      headers: Object.fromEntries(headers),
      body: normalized(answer.body),
    });
    return answer;
  }

  /** Mails are jobs: their entries come when they come, and would stand in another place each time. */
  async mailsRecorded(as: Person, action: string, count: number): Promise<void> {
    const token = this.#tokens.get(as) ?? "";
    const path = `/api/admin/audit?action=${action}`;
    await eventually(async () => (await callApi(this.#url, "GET", path, { token })).body.total >= count);
  }

  async expect(status: number, method: string, path: string, options?: Options): Promise<Answer> {
    const answer = await this.call(method, path, options);
    expect({ call: `${method} ${path}`, status: answer.status, body: answer.body }).toMatchObject({ status });
    return answer;
  }
}

export async function mainScenario(url: string): Promise<Step[]> {
  const run = new Run(url);
  await run.signInAll();
  await profiles(run);
  await tenants(run);
  await departments(run);
  await users(run);
  await accounts(run);
  await preferences(run);
  await patients(run);
  await refusals(run);
  await auditAndHealth(run);
  return run.steps;
}

async function profiles(run: Run): Promise<void> {
  for (const who of Object.keys(people) as Person[])
    await run.expect(200, "GET", "/api/users/me", { as: who });
  const { body } = await run.expect(200, "GET", "/api/auth/me", { as: "doctor" });
  expect(body).toMatchObject({ role: "doctor", department: { name: "Cardiology" } });
  const { body: admin } = await run.expect(200, "GET", "/api/users/me", { as: "superadmin" });
  expect(admin).toMatchObject({ department_id: null, department: null });
}

async function tenants(run: Run): Promise<void> {
  const as = "superadmin";
  const settings = {
    nested: { deep: [1, null, "é", { a: false }] },
    since: "2026-01-02T03:04:05.678Z",
    none: null,
  };
  const tenant = { name: "North Clinic", subdomain: "north", settings };
  const { body } = await run.expect(201, "POST", "/api/admin/tenants", { as, body: tenant });
  expect(body).toMatchObject({ settings, is_active: true, created_at: expect.stringMatching(isoMoment) });
  const path = `/api/admin/tenants/${body.id}`;
  await run.expect(409, "POST", "/api/admin/tenants", { as, body: tenant });
  await run.expect(200, "GET", path, { as });
  await run.expect(404, "GET", path, { as: "admin" });
  await run.expect(200, "PUT", path, { as, body: { name: "North", unknown: 1 } });
  const { body: all } = await run.expect(200, "GET", "/api/admin/tenants", { as });
  expect(all).toHaveLength(3);
  expect((await run.expect(200, "GET", "/api/admin/tenants", { as: "admin" })).body).toHaveLength(1);
  await run.expect(200, "GET", "/api/auth/tenants");
  await run.expect(200, "PUT", path, { as, body: { is_active: false } });
  await run.expect(204, "DELETE", path, { as });
  await run.expect(404, "GET", path, { as });
}

async function departments(run: Run): Promise<void> {
  const as = "admin";
  for (const name of ["Oncology", "Paediatrics", "50 % off_ward"]) {
    await run.expect(201, "POST", "/api/admin/departments", { as, body: { name } });
  }
  const { body: found } = await run.expect(200, "GET", "/api/admin/departments?search=onc", { as });
  expect(found).toMatchObject({ total: 1, page: 1, limit: 50, pages: 1 });
  await run.expect(200, "GET", "/api/admin/departments?search=%25%20off_&sort_by=name&sort_order=desc", {
    as,
  });
  await run.expect(200, "GET", "/api/admin/departments?page=2&limit=2&sort_by=name", { as: "head_doctor" });
  const path = `/api/admin/departments/${found.items[0].id}`;
  const { body: staff } = await run.expect(200, "GET", "/api/admin/users?role=head_doctor", { as });
  const head = { head_doctor_id: staff.items[0].id };
  expect((await run.expect(200, "PUT", path, { as, body: head })).body).toMatchObject(head);
  await run.expect(200, "PUT", path, { as, body: { head_doctor_id: null } });
  await run.expect(422, "PUT", path, { as, body: { head_doctor_id: 999_999 } });
  await run.expect(204, "DELETE", path, { as });
  await run.expect(404, "DELETE", path, { as });
  await run.expect(200, "GET", "/api/auth/departments?subdomain=demo");
  await run.expect(404, "GET", "/api/auth/departments?subdomain=nowhere");
}

async function users(run: Run): Promise<void> {
  const as = "admin";
  const account = {
    email: "new@demo.example",
    password: "Long-Enough-4711",
    full_name: "New Person",
    role: "nurse",
  };
  const { body: made } = await run.expect(201, "POST", "/api/admin/users", { as, body: account });
  const path = `/api/admin/users/${made.id}`;
  await run.expect(409, "POST", "/api/admin/users", { as, body: account });
  await run.expect(200, "GET", "/api/admin/users?search=PERSON", { as });
  await run.expect(200, "GET", "/api/admin/users?limit=2&page=2&sort_by=email&is_active=yes", { as });
  const token = await run.signIn(account.email, "demo", account.password);
  await run.expect(200, "GET", "/api/users/me", { token });
  expect((await run.expect(200, "POST", `${path}/block`, { as })).body).toMatchObject({ is_active: false });
  await run.expect(401, "GET", "/api/users/me", { token });
  const login = { email: account.email, password: account.password, subdomain: "demo" };
  await run.expect(403, "POST", "/api/auth/login", { body: login });
  await run.expect(200, "POST", `${path}/unblock`, { as });
  await run.expect(401, "GET", "/api/users/me", { token });
  const again = await run.signIn(account.email, "demo", account.password);
  await run.expect(200, "PUT", `${path}/role`, { as, body: { role: "doctor" } });
  await run.expect(401, "GET", "/api/users/me", { token: again });
  const third = await run.signIn(account.email, "demo", account.password);
  await run.expect(204, "POST", "/api/auth/logout", { token: third });
  await run.expect(401, "GET", "/api/users/me", { token: third });
  await run.expect(204, "DELETE", path, { as });
  await run.expect(404, "POST", `${path}/block`, { as });
}

async function accounts(run: Run): Promise<void> {
  const body = {
    email: "self@demo.example",
    password: "Long-Enough-4711",
    full_name: "Self Made",
    role: "nurse",
  };
  const there = { subdomain: "demo" };
  await run.expect(201, "POST", "/api/auth/register", { body: { ...body, ...there, department_id: null } });
  await run.mailsRecorded("admin", "user.send_verification", 1);
  await run.expect(201, "POST", "/api/auth/register", { body: { ...body, ...there } });
  await run.mailsRecorded("admin", "user.send_verification", 2);
  const taken = { ...body, ...there, email: "nurse@demo.example" };
  await run.expect(409, "POST", "/api/auth/register", { body: taken });
  await run.expect(403, "POST", "/api/auth/register", { body: { ...body, ...there, role: "admin" } });
  await run.expect(404, "POST", "/api/auth/register", { body: { ...body, subdomain: "nowhere" } });
  await run.expect(400, "POST", "/api/auth/verify-email?token=wrong");
  for (const [path, action, count] of [
    ["/api/auth/request-reset", "user.send_reset", 1],
    ["/api/auth/resend-verification", "user.send_verification", 3],
  ] as const) {
    for (const email of [body.email, "nobody@demo.example"]) {
      await run.expect(202, "POST", path, { body: { email, ...there } });
    }
    await run.mailsRecorded("admin", action, count);
  }
  await run.expect(400, "POST", "/api/auth/reset-password", {
    body: { token: "wrong", new_password: body.password },
  });
  await run.expect(401, "POST", "/api/auth/login", {
    body: { email: "x@y.example", password: "x", ...there },
  });
}

async function preferences(run: Run): Promise<void> {
  const as = "nurse";
  expect((await run.expect(200, "GET", "/api/preferences", { as })).body).toMatchObject({ updated_at: null });
  await run.expect(200, "PUT", "/api/preferences", {
    as,
    body: { settings: { a: 1, b: { c: null }, d: [] } },
  });
  await run.expect(200, "PUT", "/api/preferences", {
    as,
    body: { theme: "dark", settings: { a: null, e: "ü" } },
  });
  await run.expect(200, "PUT", "/api/preferences/theme", { as, body: { theme: "light" } });
  const { body } = await run.expect(200, "GET", "/api/preferences", { as });
  expect(body).toMatchObject({ theme: "light", settings: { b: { c: null }, d: [], e: "ü" } });
}

async function patients(run: Run): Promise<void> {
  const as = "doctor";
  const texts = {
    full_name: "Zoë Åberg",
    birth_date: "1990-05-17",
    phone: "+49 30 1234",
    notes: "ü".repeat(5_000),
  };
  const body = { record_number: "P-1", ...texts };
  const { body: made } = await run.expect(201, "POST", "/api/patients", { as, body });
  expect(made).toMatchObject({ ...texts, version: 1 });
  const path = `/api/patients/${made.id}`;
  await run.expect(409, "POST", "/api/patients", { as, body });
  expect((await run.expect(200, "GET", path, { as })).body).toEqual(made);
  await run.expect(404, "GET", path, { as: "nurse" });
  await run.expect(404, "GET", path, { as: "superadmin" });
  await run.expect(403, "POST", "/api/patients", { as: "registrar", body });
  await run.expect(200, "GET", path, { as: "admin" });
  for (const search of ["p-", "zoe\u0308 åberg", "0049301234"]) {
    const found = await run.expect(200, "GET", `/api/patients?search=${encodeURIComponent(search)}`, { as });
    expect(found.body.total).toBe(1);
  }
  await run.expect(201, "POST", `${path}/records`, { as, body: { kind: "visit", body: "First visit." } });
  await run.expect(200, "GET", `${path}/records`, { as });
  const changed = await run.expect(200, "PUT", path, { as, body: { version: 1, phone: null } });
  expect(changed.body).toMatchObject({ full_name: texts.full_name, phone: null, version: 2 });
  await run.expect(409, "PUT", path, { as, body: { version: 1, notes: "stale" } });
  await run.expect(422, "PUT", path, { as, body: { notes: "no version" } });
  const { body: second } = await run.expect(201, "POST", "/api/patients", {
    as,
    body: { record_number: "P-2", full_name: "Second" },
  });
  await run.expect(204, "DELETE", `/api/patients/${second.id}`, { as });
  await run.expect(404, "GET", `/api/patients/${second.id}`, { as });
}

async function refusals(run: Run): Promise<void> {
  await run.expect(404, "GET", "/api/nothing");
  expect((await run.expect(405, "DELETE", "/api/users/me")).headers.get("allow")).toBe("GET, HEAD");
  await run.expect(401, "GET", "/api/users/me");
  await run.expect(401, "GET", "/api/users/me", { token: "a.b.c" });
  await run.expect(403, "POST", "/api/admin/users", { as: "nurse", body: {} });
  await run.expect(403, "GET", "/api/admin/users?tenant_id=1", { as: "admin" });
  await run.expect(404, "PUT", "/api/admin/users/99999999999/role", { as: "admin", body: { role: "nurse" } });
  const { body } = await run.expect(422, "POST", "/api/admin/users", {
    as: "admin",
    body: { email: "x", role: 7 },
  });
  expect(body.detail).toHaveLength(4);
  await run.expect(422, "GET", "/api/admin/users?limit=201&page=0&sort_by=password_hash", { as: "admin" });
  await run.expect(422, "POST", "/api/admin/users", { as: "admin", body: '{"email": nope}' });
  await run.expect(422, "PUT", "/api/preferences", { as: "nurse", body: "[1]" });
  // Near the limit of a body, and so beyond that of a message on the bus.
  const long = "x".repeat(1_048_000);
  await run.expect(422, "PUT", "/api/preferences", { as: "nurse", body: { settings: { long } } });
  // Without a token a body has 16 kB.
  await run.expect(422, "POST", "/api/auth/login", {
    body: { email: "a@b.example", password: long.slice(0, 16_000), subdomain: "x" },
  });
  await run.expect(413, "POST", "/api/auth/login", {
    body: { email: "a@b.example", password: long, subdomain: "x" },
  });
  await run.expect(413, "PUT", "/api/preferences", {
    as: "nurse",
    body: { settings: { long: long + long } },
  });
}

async function auditAndHealth(run: Run): Promise<void> {
  const { body } = await run.expect(200, "GET", "/api/admin/audit?limit=200&sort_by=seq&sort_order=asc", {
    as: "admin",
  });
  expect(body.items.length).toBeGreaterThan(20);
  await run.expect(200, "GET", "/api/admin/audit?action=user.*&limit=5", { as: "admin" });
  await run.expect(200, "GET", "/api/admin/audit?from_date=2999-01-01", { as: "admin" });
  await run.expect(422, "GET", "/api/admin/audit?from_date=2026-02-01&to_date=2026-01-01", { as: "admin" });
  for (const as of ["admin", "superadmin"] as const) {
    const verified = await run.expect(200, "GET", "/api/admin/audit/verify", { as });
    expect(verified.body).toMatchObject({ ok: true, first_bad_seq: null });
    expect((await run.expect(200, "GET", "/api/admin/health", { as })).body).toMatchObject({ status: "ok" });
  }
}
