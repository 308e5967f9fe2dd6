// /api/webhooks over HTTP: registering, listing, changing and deleting, and what is refused.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Resolver } from "node:dns/promises";
import { eventKinds } from "../../services/shared/event-kinds.ts";
import { type Canary, startCanary } from "../support/canary.ts";
import { hostileUrls, insideNames } from "../support/hostile-urls.ts";
import { traceOf } from "../support/journal.ts";
import { type Answer, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic } from "../support/tenancy.ts";

let service: TestService;
let token: string;
const publicUrl = "https://93.184.215.14/hook?token=canary-of-the-query";

beforeAll(async () => {
  // One try each.
  service = await startService({ WEBHOOK_RETRY_SECONDS: "0" });
  const superadmin = await service.signIn("superadmin");
  ({ token } = await makeClinic(service, superadmin));
});
afterAll(() => service.stop());

const register = (body: unknown, as = token) =>
  service.call("POST", "/api/webhooks/register", { token: as, body });
const put = (id: number, body: unknown) => service.call("PUT", `/api/webhooks/${id}`, { token, body });
const list = async (as = token) => (await service.call("GET", "/api/webhooks", { token: as })).body;
const hook = (more: object = {}) => ({ url: publicUrl, events: ["user.created"], ...more });
const faultsOf = ({ status, body }: Answer) => [
  status,
  ...body.detail.map(({ loc, type, msg }: { loc: string[]; type: string; msg: string }) => [
    loc.join("."),
    type,
    msg,
  ]),
];

describe("201", () => {
  it("shows a secret that was made here, once", async () => {
    const made = await register(hook());
    expect(made.status).toBe(201);
    expect(Object.keys(made.body).slice(0, 6)).toEqual([
      "id",
      "tenant_id",
      "url",
      "events",
      "is_active",
      "created_at",
    ]);
    expect(made.body).toMatchObject({ url: publicUrl, events: ["user.created"], is_active: true });
    expect(Buffer.from(made.body.secret.replace("whsec_", ""), "base64")).toHaveLength(32);
    const { secret, for_libraries: forLibraries, ...rest } = made.body;
    expect(forLibraries).toMatch(/this secret as it is/);
    expect(await list()).toContainEqual(rest);
    expect(JSON.stringify(await list())).not.toContain(secret);
  });

  it.each([
    ["a secret of the scheme", `whsec_${Buffer.alloc(24, 7).toString("base64")}`],
    ["the longest secret of the scheme", `whsec_${Buffer.alloc(64, 7).toString("base64")}`],
    ["plain characters", "sixteen letters!"],
    ["many plain characters", "x".repeat(256)],
  ])("does not repeat %s", async (_case, secret) => {
    const made = await register(hook({ secret }));
    expect(made.status).toBe(201);
    expect(made.body).not.toHaveProperty("secret");
    expect(made.body.for_libraries).toMatch(secret.startsWith("whsec_") ? /as it is/ : /the base64 of/);
    await service.call("DELETE", `/api/webhooks/${made.body.id}`, { token });
  });

  it("takes every kind of the list and the star, and drops what comes twice", async () => {
    const made = await register(hook({ events: [...eventKinds, "*", "*"] }));
    expect(made.body.events).toEqual([...eventKinds, "*"]);
    const types = await service.call("GET", "/api/webhooks/event-types", { token });
    expect(types.body.map(({ type }: { type: string }) => type)).toEqual([...eventKinds, "*"]);
    expect(types.body.at(0)).toEqual({
      type: "user.created",
      description: expect.any(String),
      schema: {
        type: "object",
        properties: { user_id: expect.any(Object), role: expect.any(Object) },
        required: ["user_id", "role"],
      },
    });
  });

  it("seals the secret and leaves neither it nor the query in the log", async () => {
    const secret = "a-canary-nobody-may-see";
    const { entries } = await traceOf(service, () => register(hook({ secret })));
    expect(entries.map(({ action }) => action)).toEqual(["webhook.register"]);
    expect(entries[0]?.changes).toEqual({
      url: "https://93.184.215.14",
      events: ["user.created"],
      is_active: true,
      secret: "given",
    });
    const { rows } = await service.database.owner.query(
      "select * from webhooks join delivery_targets using (tenant_id, id)",
    );
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(rows.every((row) => row.secret.length > 33 && row.secret[0] === 1)).toBe(true);
  });
});

describe("422", () => {
  const secretSentence = "Value error, after whsec_ comes base64 of 24 to 64 bytes";
  it.each([
    ["nothing", {}, ["body.url", "missing"], ["body.events", "missing"]],
    ["no address", hook({ url: "nowhere" }), ["body.url", "url_parsing"]],
    ["another scheme", hook({ url: "ftp://a.example/" }), ["body.url", "url_scheme"]],
    ["plain http", hook({ url: "http://93.184.215.14/" }), ["body.url", "url_scheme"]],
    [
      "a long address",
      hook({ url: `https://a.example/${"x".repeat(2040)}` }),
      ["body.url", "string_too_long"],
    ],
    ["a login in the address", hook({ url: "https://a:b@a.example/" }), ["body.url", "value_error"]],
    ["a fragment", hook({ url: "https://a.example/#x" }), ["body.url", "value_error"]],
    ["a low port", hook({ url: "https://93.184.215.14:25/" }), ["body.url", "value_error"]],
    ["an unknown kind", hook({ events: ["user.created", "user.eaten"] }), ["body.events.1", "literal_error"]],
    ["no kind", hook({ events: [] }), ["body.events", "too_short"]],
    ["kinds that are no list", hook({ events: "*" }), ["body.events", "list_type"]],
    ["a short secret", hook({ secret: "fifteen letters" }), ["body.secret", "string_too_short"]],
    ["a long secret", hook({ secret: "x".repeat(257) }), ["body.secret", "string_too_long"]],
    ["a secret of other characters", hook({ secret: "ü".repeat(20) }), ["body.secret", "value_error"]],
    [
      "a secret that is no base64",
      hook({ secret: "whsec_not base64 at all!" }),
      ["body.secret", "value_error", secretSentence],
    ],
    [
      "23 bytes",
      hook({ secret: `whsec_${Buffer.alloc(23).toString("base64")}` }),
      ["body.secret", "value_error"],
    ],
    [
      "65 bytes",
      hook({ secret: `whsec_${Buffer.alloc(65).toString("base64")}` }),
      ["body.secret", "value_error"],
    ],
    ["a secret that is no text", hook({ secret: 1234567890123456 }), ["body.secret", "string_type"]],
  ])("%s", async (_case, body, ...wanted) => {
    const [status, ...found] = faultsOf(await register(body));
    expect(status).toBe(422);
    expect(found).toHaveLength(wanted.length);
    wanted.forEach((each, at) => expect(found[at]?.slice(0, (each as string[]).length)).toEqual(each));
  });
});

describe("an address inside", () => {
  let canary: Canary;
  beforeAll(async () => {
    canary = await startCanary();
  });
  afterAll(() => canary.stop());

  it("is refused on register and update, in sixty spellings, and reached by neither", async () => {
    const { body: made } = await register(hook());
    // Names of strangers are another test's (outbound): here there is only the machine's own name server.
    const literal = (url: string) => !Object.keys(insideNames).some((name) => url.includes(name));
    const urls = hostileUrls(canary.port)
      .filter(literal)
      .filter((url) => !url.includes("public.example"));
    expect(urls.length).toBeGreaterThan(60);
    const passed: string[] = [];
    for (const url of urls) {
      const answers = await Promise.all([register(hook({ url })), put(made.id, { url })]);
      if (answers.some(({ status }) => status !== 422)) passed.push(url);
    }
    expect(passed).toEqual([]);
    expect(canary.connections()).toBe(0);
    expect((await list()).find(({ id }: { id: number }) => id === made.id).url).toBe(publicUrl);
  });

  it("that got into the database all the same is reached by no test and no delivery", async () => {
    const { token: own } = await makeClinic(service, await service.signIn("superadmin"));
    const ids: number[] = [];
    for (let n = 0; n < 45; n++)
      ids.push((await register(hook({ events: ["department.created"] }), own)).body.id);
    const { owner } = service.database;
    const urls = hostileUrls(canary.port).filter((url) => url.length <= 2048);
    for (let first = 0; first < urls.length; first += ids.length) {
      const some = urls.slice(first, first + ids.length);
      for (const [at, url] of some.entries())
        await owner.query("update webhooks set url = $2 where id = $1", [ids[at], url]);
      for (const [at] of some.entries()) {
        const tested = await service.call("POST", `/api/webhooks/${ids[at]}/test`, { token: own });
        expect(tested.body).toMatchObject({ delivered: false, status_code: null });
      }
      const body = { name: `Unit ${first}` };
      await service.call("POST", "/api/admin/departments", { token: own, body });
      await eventually(async () => {
        const { rows } = await owner.query(
          `select (select count(*) from fan_out_queue) + (select count(*) from deliveries where state = 'pending') as left`,
        );
        return Number(rows[0].left) === 0;
      });
    }
    const { rows } = await owner.query(
      `select a.error, count(*)::integer as times from delivery_attempts a join deliveries d on d.id = a.delivery_id
       where d.target_id = any($1) group by 1 order by 1`,
      [ids],
    );
    expect(rows.reduce((sum, { times }) => sum + times, 0)).toBeGreaterThanOrEqual(urls.length);
    for (const { error } of rows) expect(["blocked", "invalid_url", "unresolved"]).toContain(error);
    expect(canary.connections()).toBe(0);
  });

  it("may be named when its name has no address yet, as it is looked at again each time", async () => {
    const unknown = await new Resolver({ timeout: 500, tries: 1 }).resolve4("never-was.invalid").then(
      () => false,
      () => true,
    );
    expect(unknown).toBe(true);
    expect((await register(hook({ url: "https://never-was.invalid/hook" }))).status).toBe(201);
  });
});

describe("PUT", () => {
  it("changes what is sent, and leaves the rest", async () => {
    const { body: made } = await register(hook());
    const { entries } = await traceOf(service, async () => {
      const changed = await put(made.id, { events: ["*"], is_active: false });
      expect(changed.status).toBe(200);
      expect(changed.body).toMatchObject({ id: made.id, url: publicUrl, events: ["*"], is_active: false });
      expect(changed.body).not.toHaveProperty("secret");
    });
    expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
      ["webhook.update", { events: ["*"], is_active: false }],
    ]);
    const same = await traceOf(service, () => put(made.id, { is_active: false }));
    expect(same.entries).toEqual([]);
    expect((await put(made.id, { is_active: "yes" })).body).toMatchObject({ is_active: true, events: ["*"] });
  });

  it("keeps the old secret for a day beside a new one, and says neither", async () => {
    const { body: made } = await register(hook());
    const secret = "the-new-secret-of-this-hook";
    const { entries } = await traceOf(service, async () => {
      const changed = await put(made.id, { secret });
      expect(changed.status).toBe(200);
      expect(JSON.stringify(changed.body)).not.toContain(secret);
    });
    expect(entries[0]?.changes).toEqual({ secret: "replaced" });
    const { rows } = await service.database.owner.query(
      `select previous_secret is not null as kept,
         previous_secret_until between now() + interval '23 hours' and now() + interval '24 hours' as for_a_day
       from webhooks where id = $1`,
      [made.id],
    );
    expect(rows).toEqual([{ kept: true, for_a_day: true }]);
  });

  it("that replaces the secret says what a library is given, and no other change does", async () => {
    const { body: made } = await register(hook());
    const encoded = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    expect((await put(made.id, { secret: encoded })).body.for_libraries).toMatch(/this secret as it is/);
    const { body: plain } = await put(made.id, { secret: "a plain secret of mine" });
    expect(plain.for_libraries).toMatch(/the base64 of these characters/);
    for (const change of [{ is_active: false }, { secret: null }])
      expect((await put(made.id, change)).body).not.toHaveProperty("for_libraries");
  });

  it("that activates forgets why it was switched off", async () => {
    const { body: made } = await register(hook());
    await service.database.owner.query(
      `with off as (update delivery_targets set is_active = false where id = $1)
       update webhooks set failing_since = now(), disabled_at = now(), disabled_reason = 'failing' where id = $1`,
      [made.id],
    );
    const found = (await list()).find(({ id }: { id: number }) => id === made.id);
    expect(found).toMatchObject({ is_active: false, disabled_reason: "failing" });
    const changed = await put(made.id, { is_active: true });
    expect(changed.body).toMatchObject({
      is_active: true,
      failing_since: null,
      disabled_at: null,
      disabled_reason: null,
    });
  });
});

describe("DELETE", () => {
  it("answers 204, then 404, and takes the secret away at once", async () => {
    const { body: made } = await register(hook());
    const remove = () => service.call("DELETE", `/api/webhooks/${made.id}`, { token });
    const { entries } = await traceOf(service, async () => {
      expect([(await remove()).status, (await remove()).status]).toEqual([204, 404]);
    });
    expect(entries.map(({ action }) => action)).toEqual(["webhook.delete"]);
    expect((await put(made.id, { is_active: true })).status).toBe(404);
    const { rows } = await service.database.owner.query("select from webhooks where id = $1", [made.id]);
    expect(rows).toEqual([]);
  });
});

describe("404 and 409", () => {
  it("another tenant's webhook is not there", async () => {
    const superadmin = await service.signIn("superadmin");
    const { token: stranger } = await makeClinic(service, superadmin);
    const { body: made } = await register(hook());
    for (const as of [stranger, superadmin]) {
      const path = `/api/webhooks/${made.id}`;
      expect((await service.call("PUT", path, { token: as, body: { is_active: false } })).status).toBe(404);
      expect((await service.call("DELETE", path, { token: as })).status).toBe(404);
      expect((await list(as)).map(({ id }: { id: number }) => id)).not.toContain(made.id);
    }
  });

  it("a tenant has at most fifty, also when many are asked for at once", async () => {
    const { token: full } = await makeClinic(service, await service.signIn("superadmin"));
    // As many at once as one user may have under way.
    const atOnce = () => Promise.all(Array.from({ length: 28 }, () => register(hook(), full)));
    const answers = [...(await atOnce()), ...(await atOnce())];
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(50).fill(201), ...Array(6).fill(409)]);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe("too_many_webhooks");
    expect(await list(full)).toHaveLength(50);
  });
});
