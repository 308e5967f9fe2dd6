// Traps of the gateway's frame, each seen to work against it once: parameters that travel by the wrong place, doors to
// the bus, raw errors, and an identity kept longer than its owner's call.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import jwt from "jsonwebtoken";
import { contracts, routes } from "../../../../services/api-gateway/routes.ts";
import { inParallel, type WireAnswer } from "../../../contract/walk/wire.ts";
import { password, type Person, World } from "../../../contract/walk/world.ts";

let world: World;
let admin: Person;
let token: string;
beforeAll(async () => {
  world = await World.open({ LOG_LEVEL: "debug" });
  admin = await world.addUser(world.tenants.own.id, "admin");
  token = await world.openSession(admin);
});
afterAll(() => world.stop());

function send(method: string, path: string, body?: string, bearer = token): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  return world.wire.send({ method, path, headers, body });
}

describe("a parameter from the wrong place", () => {
  const columns =
    "tenant_id, department_id, full_name, role, can_see_all_patients, is_active, approved_at is null as pending, email_verified, session_epoch, deleted_at";
  const raised = `{"role": "superadmin", "tenant_id": 1, "is_active": true, "can_see_all_patients": true}`;
  const forms: [string, string][] = [
    ["__proto__", `"__proto__": ${raised}`],
    ["an escaped __proto__", `"\\u005f_proto__": ${raised}`],
    ["__proto__ as text", `"__proto__": "x"`],
    ["constructor.prototype", `"constructor": {"prototype": ${raised}}`],
    ["prototype", `"prototype": ${raised}`],
    ["__proto__ within __proto__", `"__proto__": {"__proto__": ${raised}}`],
    ["a list as __proto__", `"__proto__": [${raised}]`],
    [
      "accessor names",
      `"__defineGetter__": "x", "__lookupGetter__": "y", "hasOwnProperty": 1, "toString": 2`,
    ],
    [
      "columns",
      `"id": 1, "password_hash": "x", "session_epoch": 9, "deleted_at": "2020-01-01", "approved_at": null`,
    ],
    [
      "columns in the code's spelling",
      `"tenantId": 1, "isActive": false, "emailVerified": true, "canSeeAllPatients": true`,
    ],
    [
      "fields of the caller",
      `"caller": {"principal": {"kind": "system"}}, "user": ${raised}, "meta": ${raised}`,
    ],
    ["a doubled key before", `"full_name": "First", "full_name": "Person Name"`],
    ["moleculer's own", `"$$strict": "remove", "$params": ${raised}, "$statusCode": 201`],
  ];

  async function made(path: string, fixed: string, extra: string, bearer?: string): Promise<unknown> {
    const email = `new-${world.unique()}@people.example`;
    const body = `{${extra === "" ? "" : `${extra}, `}"email": "${email}", "password": "${password}", "full_name": "Person Name", ${fixed}}`;
    const answer = await send("POST", path, body, bearer);
    expect([extra, answer.status]).toEqual([extra, 201]);
    return world.one(`select ${columns} from users where email = $1`, [email]);
  }

  it.each(forms)("%s changes nothing about a user that is created", async (_what, extra) => {
    const control = await made("/api/admin/users", '"role": "nurse"', "");
    expect(await made("/api/admin/users", '"role": "nurse"', extra)).toEqual(control);
  });

  it.each([
    ...forms,
    [
      "what only an administrator says",
      '"can_see_all_patients": true, "is_active": true, "email_verified": true, "tenant_id": 1',
    ],
  ])("%s changes nothing about a user who registers", async (_what, extra) => {
    const fixed = '"role": "nurse", "subdomain": "demo"';
    const control = await made("/api/auth/register", fixed, "", "");
    expect(await made("/api/auth/register", fixed, extra, "")).toEqual(control);
  });

  it.each(forms)("%s is not stored in settings, nor anything by its help", async (_what, extra) => {
    const person = await world.addUser(world.tenants.own.id);
    const bearer = await world.openSession(person);
    const answer = await send("PUT", "/api/preferences", `{"theme": "dark", ${extra}}`, bearer);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([200, { theme: "dark", settings: {} }]);
    const nested = await send(
      "PUT",
      "/api/preferences",
      `{"settings": {"kept": 1, "in": {${extra}}}}`,
      bearer,
    );
    expect([200, 422]).toContain(nested.status);
    const stored = await world.sql<{ settings: string }>(
      "select settings::text from preferences where user_id = $1",
      [person.id],
    );
    expect(stored[0]?.settings).not.toMatch(/__proto__|"constructor"/);
  });

  it("of a query does not override the body's", async () => {
    const control = await made("/api/admin/users", '"role": "nurse"', "");
    for (const query of [
      "role=admin",
      "role[]=admin",
      "can_see_all_patients=true&full_name=Other",
      "email=other@people.example",
    ]) {
      expect([query, await made(`/api/admin/users?${query}`, '"role": "nurse"', "")]).toEqual([
        query,
        control,
      ]);
    }
  });

  it("of query or body does not override the path's", async () => {
    const target = await world.addUser(world.tenants.own.id);
    const other = await world.addUser(world.tenants.own.id);
    const path = `/api/admin/users/${target.id}/role?user_id=${other.id}&role=admin`;
    const answer = await send(
      "PUT",
      path,
      `{"role": "registrar", "user_id": ${other.id}, "id": ${other.id}}`,
    );
    expect(JSON.parse(answer.text)).toMatchObject({ id: target.id, role: "registrar" });
    const rows = await world.sql("select role from users where id = any($1) order by id", [
      [target.id, other.id],
    ]);
    expect(rows).toEqual([{ role: "registrar" }, { role: "doctor" }]);
  });

  it.each([
    "limit[]=1",
    "limit[$gt]=1",
    "limit[0]=1",
    "limit.x=1",
    "__proto__[limit]=1",
    "constructor[prototype][limit]=1",
  ])("the query ?%s is no list, no object, and no limit", async (query) => {
    const answer = await send("GET", `/api/admin/users?${query}`);
    expect([answer.status, JSON.parse(answer.text).limit]).toEqual([200, 50]);
  });

  it("of a repeated query the last one counts", async () => {
    const answer = await send("GET", "/api/admin/users?limit=1&limit=2&limit=3");
    expect(JSON.parse(answer.text).limit).toBe(3);
  });
});

describe("doors to the bus", () => {
  const inner = Object.keys(contracts).flatMap((name) => [
    `/${name}`,
    `/api/${name}`,
    `/${name.replace(".", "/")}`,
    `/api/${name.replace(".", "/")}`,
  ]);
  const doors = [
    "/~node",
    "/~node/list",
    "/$node/list",
    "/api/$node.list",
    "/api/$node/health",
    "/api/services.action",
    "/api/services/action",
    "/api-gateway/listAliases",
    "/api/list-aliases",
    "/list-aliases",
    "/api-gateway/rest",
    "/api/api-gateway.rest",
    "/rest",
    "/api",
    "/api/",
  ];

  it("are not there, under any action's name", async () => {
    // "/api/patients/list" is the patient whose id is "list": a route of the interface, answered as such.
    const known = routes.map(({ path }) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`));
    const faults: string[] = [];
    for (const path of [...inner, ...doors].filter((each) => !known.some((route) => route.test(each)))) {
      for (const method of ["GET", "POST"]) {
        const { status, text } = await send(method, path, method === "POST" ? "{}" : undefined);
        if (status !== 404 || JSON.parse(text).code !== "not_found")
          faults.push(`${method} ${path}: ${status} ${text}`);
      }
    }
    expect(faults).toEqual([]);
  });
});

describe("a raw error of the database", () => {
  const secret = "Canary-Of-The-Database";
  const internal = '{"detail":"Internal error","code":"internal_error"}';

  it("is told as one constant sentence, and the log quotes no value of it", async () => {
    await world.sql(`create function raise_canary() returns trigger language plpgsql as $$
      begin raise exception '${secret} % of %', new.full_name, new.email using detail = '${secret}', errcode = '22012'; end $$`);
    await world.sql(
      "create trigger canary before insert on users for each row execute function raise_canary()",
    );
    try {
      const body = JSON.stringify({
        email: `hidden-${secret}@people.example`,
        password,
        full_name: `Hidden ${secret}`,
        role: "nurse",
      });
      const answer = await send("POST", "/api/admin/users", body);
      expect([answer.status, answer.text]).toEqual([500, internal]);
    } finally {
      await world.sql("drop trigger canary on users; drop function raise_canary()");
    }
    await world.service.process.printed(/"requestId"[^\n]*"err"|"err"[^\n]*"requestId"/);
    expect(world.service.process.output()).not.toContain(secret);
  });

  it("about the schema is told the same way", async () => {
    await world.sql("alter table preferences rename to mislaid");
    try {
      for (const [method, body] of [
        ["GET", undefined],
        ["PUT", `{"settings": {"note": "${secret}"}}`],
      ] as const) {
        const answer = await send(method, "/api/preferences", body);
        expect([answer.status, answer.text]).toEqual([500, internal]);
      }
    } finally {
      await world.sql("alter table mislaid rename to preferences");
    }
    expect(world.service.process.output()).not.toContain(secret);
  });

  it("about a value that is taken does not repeat it", async () => {
    const { email } = await world.addUser(world.tenants.own.id);
    const body = JSON.stringify({ email, password, full_name: "Person Name", role: "nurse" });
    const answer = await send("POST", "/api/admin/users", body);
    expect(answer.status).toBe(409);
    expect(answer.text).not.toContain(email);
    expect(world.service.process.output()).not.toContain(email);
  });
});

describe("an identity", () => {
  it("is never another caller's: 50 people of two tenants side by side, 3,000 times", async () => {
    const { own, other } = world.tenants;
    const people = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const person = await world.addUser(i % 2 === 0 ? own.id : other.id, i % 4 < 2 ? "admin" : "doctor");
        return { person, bearer: await world.openSession(person) };
      }),
    );
    const wrong: string[] = [];
    const all = Array.from({ length: 3_000 }, (_, i) => people[(i * 7) % people.length] ?? []).flat();
    expect(all).toHaveLength(3_000);
    await inParallel(all, 32, async (each) => {
      const { status, text } = await send("GET", "/api/users/me", undefined, each.bearer);
      const { id, tenant_id: tenantId } = JSON.parse(text);
      if (status !== 200 || id !== each.person.id || tenantId !== each.person.tenantId) wrong.push(text);
    });
    expect(wrong).toEqual([]);
  });

  it("follows the present state, not what the token says of role and tenant", async () => {
    const person = await world.addUser(world.tenants.own.id, "nurse");
    const claims = jwt.decode(await world.openSession(person), { complete: true });
    if (claims === null || typeof claims.payload === "string") throw new Error("a token of ours is a JWT");
    const lying = jwt.sign(
      { ...claims.payload, role: "superadmin", tid: world.tenants.platform.id, sub: "1" },
      world.service.settings.JWT_SECRET ?? "",
      { algorithm: "HS256", keyid: claims.header.kid ?? "" },
    );
    const me = JSON.parse((await send("GET", "/api/users/me", undefined, lying)).text);
    expect(me).toMatchObject({ id: person.id, role: "nurse", tenant_id: person.tenantId });
    expect((await send("GET", "/api/admin/tenants", undefined, lying)).status).toBe(403);
  });

  it.each<[string, jwt.SignOptions, object]>([
    ["without an expiry", { algorithm: "HS256" }, { exp: undefined }],
    ["signed by HS512", { algorithm: "HS512" }, {}],
    ["for another audience", { algorithm: "HS256" }, { aud: "others" }],
    ["for a list of audiences", { algorithm: "HS256" }, { aud: ["records-api", "others"] }],
    ["issued by another", { algorithm: "HS256" }, { iss: "others" }],
    ["from the future", { algorithm: "HS256" }, { iat: 4_000_000_000, exp: 4_000_000_100 }],
    ["that outlives us", { algorithm: "HS256" }, { iat: 1, exp: 253_402_300_799 }],
    ["with an unknown critical header", { algorithm: "HS256", header: { alg: "HS256", crit: ["x"] } }, {}],
    [
      "with a key of its own",
      { algorithm: "HS256", header: { alg: "HS256", jku: "https://evil.example" } },
      {},
    ],
  ])("is not read from a token of a real session %s", async (_what, options, changes) => {
    const real = jwt.decode(await world.openSession(admin), { complete: true });
    if (real === null || typeof real.payload === "string") throw new Error("a token of ours is a JWT");
    const payload = Object.fromEntries(
      Object.entries({ ...real.payload, ...changes }).filter(([, value]) => value !== undefined),
    );
    const secret = world.service.settings.JWT_SECRET ?? "";
    const sign = (given: object, how: jwt.SignOptions) =>
      jwt.sign(given, secret, { ...how, keyid: real.header.kid ?? "" });
    expect(
      (await send("GET", "/api/users/me", undefined, sign(real.payload, { algorithm: "HS256" }))).status,
    ).toBe(200);
    expect((await send("GET", "/api/users/me", undefined, sign(payload, options))).status).toBe(401);
  });
});
