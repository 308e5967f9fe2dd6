// The audit log as evidence: tampering is found, the application's login cannot tamper, and every change stands or
// falls with its entry and its event.
import { hkdfSync } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { traceOf } from "../support/journal.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  for (let i = 0; i < 6; i++) await makeDepartment(service, clinic.token);
});
afterAll(() => service.stop());

const verify = (token = clinic.token, query = ""): Promise<Answer> =>
  service.call("GET", `/api/admin/audit/verify${query}`, { token });
const total = async (): Promise<number> =>
  (await service.call("GET", "/api/admin/audit?limit=1", { token: clinic.token })).body.total;

describe("verify", () => {
  it("an untouched log is whole, for every tenant, however long", async () => {
    expect((await verify()).body).toMatchObject({ ok: true, checked: await total(), first_bad_seq: null });
    const tenants = await service.call("GET", "/api/admin/tenants", { token: superadmin });
    for (const { id } of tenants.body) {
      expect((await verify(superadmin, `?tenant_id=${id}`)).body).toMatchObject({ ok: true });
    }
    expect((await verify(superadmin)).body.ok).toBe(true);
  });

  it("a log of more than one batch", async () => {
    const own = await makeClinic(service, superadmin);
    await service.database.owner.query(
      `insert into audit_entries (tenant_id, action, outcome, changes)
       select $1, 'test.bulk', 'ok', ('{"n":' || n || '}')::json from generate_series(1, 2500) n`,
      [own.id],
    );
    const { body } = await verify(own.token);
    expect(body).toMatchObject({ ok: true, first_bad_seq: null });
    expect(body.checked).toBeGreaterThan(2500);
  });

  it("stays true while entries are being written", async () => {
    const writes = Array.from({ length: 30 }, () => makeDepartment(service, clinic.token));
    const answers = await Promise.all(Array.from({ length: 10 }, () => verify()));
    expect(answers.map(({ body }) => body.ok)).toEqual(answers.map(() => true));
    await Promise.all(writes);
    expect((await verify()).body.ok).toBe(true);
  });

  it("an unknown tenant has nothing to be wrong", async () => {
    const { body } = await verify(superadmin, "?tenant_id=2000000000");
    expect(body).toEqual({
      ok: true,
      checked: 0,
      first_bad_seq: null,
      bad: [],
      bad_total: 0,
      checkpoints: 0,
      checkpoint_seq: null,
    });
  });

  it.each(["0", "x", "2147483648"])("the tenant %s is 422", async (id) => {
    expect((await verify(superadmin, `?tenant_id=${id}`)).status).toBe(422);
  });
});

describe("tampering by the database's owner, triggers switched off, is found", () => {
  const { owner } = { owner: () => service.database.owner };
  // Each forgery is undone by the copy: the owner keeps the log as it was.
  beforeEach(async () => {
    await owner().query("create table kept as select * from audit_entries where tenant_id = " + clinic.id);
    await owner().query("create table kept_head as select * from audit_heads where tenant_id = " + clinic.id);
    await owner().query("set session_replication_role = replica");
  });
  afterEach(async () => {
    await owner().query("delete from audit_entries where tenant_id = $1", [clinic.id]);
    await owner().query("insert into audit_entries overriding system value select * from kept");
    await owner().query(
      "update audit_heads h set seq = k.seq, hash = k.hash from kept_head k where h.tenant_id = k.tenant_id",
    );
    await owner().query("drop table kept; drop table kept_head; reset session_replication_role");
    expect((await verify()).body.ok).toBe(true);
  });

  /** What verify finds: "seq reason", or "seq-to reason" for a run; the entries around are looked at all the same. */
  const findings = async (): Promise<string[]> => {
    const { ok, first_bad_seq: first, bad, bad_total: all } = (await verify()).body;
    expect([ok, all]).toEqual([bad.length === 0, bad.length]);
    expect(first).toBe(bad.length === 0 ? null : Math.min(...bad.map(({ seq }: { seq: number }) => seq)));
    return bad.map(
      ({ seq, to_seq: to, reason }: { seq: number; to_seq: number; reason: string }) =>
        `${seq === to ? seq : `${seq}-${to}`} ${reason}`,
    );
  };
  const forge = (sql: string) => owner().query(sql.replaceAll("$tenant", String(clinic.id)));
  it.each([
    ["action", "action = 'user.unblock'"],
    ["user", "user_id = 1"],
    ["outcome", "outcome = 'denied'"],
    ["target", "target_id = '999999'"],
    ["changes", `changes = '{"name":"other"}'`],
    ["time", "created_at = created_at + interval '1 millisecond'"],
    ["address", "ip = '10.0.0.1'"],
    ["request id", "request_id = 'another-request'"],
    ["hash", "hash = sha256('x')"],
    ["previous hash", "prev_hash = sha256('x')", "4 link"],
    ["id", "id = default"],
  ])("an altered %s", async (_what, change, finding = "4 hash") => {
    await forge(`update audit_entries set ${change} where tenant_id = $tenant and seq = 4`);
    expect(await findings()).toEqual([finding]);
    expect((await verify()).body.checked).toBe(await total());
  });

  it("several altered entries, each by its number", async () => {
    await forge("update audit_entries set outcome = 'error' where tenant_id = $tenant and seq in (2, 4, 6)");
    expect(await findings()).toEqual(["2 hash", "4 hash", "6 hash"]);
  });

  it("an entry with changes that are not canonical is one bad entry, and what follows is proved", async () => {
    const before = await total();
    // Hashed as the database does, whatever would refuse it.
    await forge(`insert into audit_entries (tenant_id, seq, action, outcome, changes, prev_hash, hash)
      select tenant_id, seq + 1, 'test.odd', 'ok', '{"b":1, "a":1}', hash, '' from audit_heads where tenant_id = $tenant`);
    await forge(`update audit_entries e set hash = sha256(prev_hash || convert_to(audit_canonical(e), 'UTF8'))
      where tenant_id = $tenant and action = 'test.odd'`);
    await forge(`update audit_heads h set seq = e.seq, hash = e.hash from audit_entries e
      where h.tenant_id = $tenant and e.tenant_id = h.tenant_id and e.action = 'test.odd'`);
    await makeDepartment(service, clinic.token);
    await makeDepartment(service, clinic.token);
    expect(await findings()).toEqual([`${before + 1} not_canonical`]);
    await forge(
      `update audit_entries set outcome = 'error' where tenant_id = $tenant and seq = ${before + 2}`,
    );
    expect(await findings()).toEqual([`${before + 1} not_canonical`, `${before + 2} hash`]);
  });

  it("an altered entry with a hash made to fit", async () => {
    await forge("update audit_entries set outcome = 'error' where tenant_id = $tenant and seq = 4");
    await forge(`update audit_entries e set hash = sha256(prev_hash || convert_to(audit_canonical(e), 'UTF8'))
      where tenant_id = $tenant and seq = 4`);
    expect(await findings()).toEqual(["5 link"]);
  });

  it.each([1, 4])("a removed entry, the %d.", async (seq) => {
    await forge(`delete from audit_entries where tenant_id = $tenant and seq = ${seq}`);
    expect(await findings()).toEqual([`${seq} missing`]);
    expect((await verify()).body.checked).toBe((await total()) - 1);
  });

  it("removed entries that follow each other are one run", async () => {
    await forge("delete from audit_entries where tenant_id = $tenant and seq between 2 and 5");
    expect(await findings()).toEqual(["2-5 missing"]);
  });

  it("a removed entry with the numbers closed up", async () => {
    await forge("delete from audit_entries where tenant_id = $tenant and seq = 4");
    await forge("update audit_entries set seq = -seq where tenant_id = $tenant and seq > 4");
    await forge("update audit_entries set seq = -seq - 1 where tenant_id = $tenant and seq < 0");
    const end = await total();
    const moved = Array.from({ length: end - 4 }, (_, at) => `${at + 4} hash`);
    expect(await findings()).toEqual([...moved, `${end} missing`]);
  });

  it("two entries in each other's place", async () => {
    await forge("update audit_entries set seq = -5 where tenant_id = $tenant and seq = 4");
    await forge("update audit_entries set seq = 4 where tenant_id = $tenant and seq = 5");
    await forge("update audit_entries set seq = 5 where tenant_id = $tenant and seq = -5");
    expect(await findings()).toEqual(["4 hash", "5 hash", "6 link"]);
  });

  it("a cut tail", async () => {
    const all = (await verify()).body.checked;
    await forge("delete from audit_entries where tenant_id = $tenant and seq > 5");
    expect(await findings()).toEqual([`6-${all} missing`]);
    expect(all).toBeGreaterThan(6);
  });

  it("a log that is gone altogether", async () => {
    const all = (await verify()).body.checked;
    await forge("delete from audit_entries where tenant_id = $tenant");
    expect(await findings()).toEqual([`1-${all} missing`]);
  });

  const copy = (seq: string) => `insert into audit_entries
    (tenant_id, seq, user_id, action, outcome, prev_hash, hash)
    select tenant_id, ${seq}, user_id, 'user.forged', outcome, prev_hash, hash from audit_entries
    where tenant_id = $tenant and seq = 4`;

  it("an inserted entry, with the others moved up", async () => {
    await forge("update audit_entries set seq = -seq where tenant_id = $tenant and seq > 4");
    await forge(copy("5"));
    await forge("update audit_entries set seq = -seq + 1 where tenant_id = $tenant and seq < 0");
    const [first, ...others] = await findings();
    expect(first).toBe("5 hash");
    expect(others.at(-1)).toMatch(/stray$/);
  });

  it("an entry put before the first", async () => {
    await forge(copy("0"));
    expect(await findings()).toEqual(["0 stray"]);
  });

  it("a log whose head is gone", async () => {
    await forge("delete from audit_heads where tenant_id = $tenant");
    await forge("update audit_entries set outcome = 'error' where tenant_id = $tenant and seq = 2");
    const end = (await verify()).body.checked;
    expect(await findings()).toEqual(["2 hash", `${end} head`]);
    await forge("insert into audit_heads select * from kept_head");
  });

  it("a head that names another hash", async () => {
    await forge("update audit_heads set hash = sha256('x') where tenant_id = $tenant");
    expect(await findings()).toEqual([`${await total()} head`]);
  });

  it("an entry put behind the last", async () => {
    const { checked } = (await verify()).body;
    await forge(copy(String(checked + 1)));
    expect(await findings()).toEqual([`${checked + 1} stray`]);
    expect((await verify()).body.checked).toBe(checked);
  });

  it("another tenant's log is not touched by it", async () => {
    await forge("delete from audit_entries where tenant_id = $tenant and seq = 2");
    const demo = await service.signIn("admin");
    expect((await verify(demo)).body.ok).toBe(true);
  });
});

describe("the application's own login", () => {
  let login: pg.Client;
  beforeAll(async () => {
    const url = new URL(service.database.url);
    const database = url.pathname.slice(1);
    const derived = hkdfSync(
      "sha256",
      service.settings.BOOT_SECRET ?? "",
      database,
      "records application login v1",
      32,
    );
    url.username = `${database}_login`;
    url.password = Buffer.from(derived).toString("base64url");
    login = new pg.Client({ connectionString: url.href });
    await login.connect();
  });
  afterAll(() => login.end());

  const scopes = {
    tenant: () => login.query("select set_config('app.tenant_id', $1, false)", [String(clinic.id)]),
    platform: () => login.query("set role records_login_platform"),
  };

  it.each(["tenant", "platform"] as const)(
    "in the %s scope can neither change nor delete an entry",
    async (scope) => {
      await scopes[scope]();
      for (const statement of [
        "update audit_entries set action = 'user.forged'",
        "delete from audit_entries",
        "truncate audit_entries",
        "update audit_heads set seq = 0",
        "delete from audit_heads",
        "truncate audit_heads",
        "insert into audit_heads values (424242, 7, '\\x00')",
        "alter table audit_entries disable trigger all",
        "drop table audit_entries",
        "set session_replication_role = replica",
        "update events set kind = 'user.forged'",
      ]) {
        await expect(login.query(statement)).rejects.toThrow(/permission denied|must be owner/);
      }
      await login.query("reset role");
      expect((await verify()).body.ok).toBe(true);
    },
  );

  it("even with the owner's rights an entry is not changed by a plain statement", async () => {
    const { owner } = service.database;
    for (const statement of [
      "update audit_entries set action = 'user.forged'",
      "delete from audit_entries",
      "truncate audit_entries",
      "delete from audit_heads",
      "truncate audit_heads",
    ]) {
      await expect(owner.query(statement)).rejects.toThrow(/append-only/);
    }
  });

  it("cannot choose number, time or hashes of an entry it inserts", async () => {
    await scopes.tenant();
    const before = await total();
    for (const [column, value] of [
      ["seq", "7"],
      ["created_at", "'2001-01-01'"],
      ["prev_hash", "'\\x00'"],
      ["hash", "'\\x00'"],
    ])
      await expect(
        login.query(
          `insert into audit_entries (tenant_id, action, outcome, ${column}) values ($1, 'user.forged', 'ok', ${value})`,
          [clinic.id],
        ),
      ).rejects.toMatchObject({ code: "42501" });
    expect(await total()).toBe(before);
  });

  /** Entries at once, one for each action, by the function that readings are recorded with. */
  const append = (tenantId: number, actions: string[], places: number[] | null = null) => {
    const each = (value: string | null) => actions.map(() => value);
    return login.query(
      `select append_entries($1, $2, $3::integer[], $4, $5::text[], $6::text[], $7, $8::json[], $9::text[], $10::text[], $11::text[])`,
      [
        tenantId,
        places,
        each(null),
        actions,
        each("patient"),
        actions.map((_, n) => `${n}`),
        each("ok"),
        each('{"a":1}'),
        each("127.0.0.1"),
        each(null),
        each("a-request"),
      ],
    );
  };
  const newest = async (tenantId: number, count: number) =>
    (
      await service.database.owner.query(
        `select seq::integer, action, target_id, user_id, changes, hash from audit_entries where tenant_id = $1
         order by seq desc limit $2`,
        [tenantId, count],
      )
    ).rows.reverse();

  it("appends several at once, in their order", async () => {
    await scopes.tenant();
    const before = await total();
    await append(clinic.id, ["patient.one", "patient.two", "patient.three"]);
    expect(await newest(clinic.id, 3)).toMatchObject([
      { seq: before + 1, action: "patient.one", target_id: "0", user_id: null, changes: { a: 1 } },
      { seq: before + 2, action: "patient.two", target_id: "1" },
      { seq: before + 3, action: "patient.three", target_id: "2" },
    ]);
    expect((await verify()).body).toMatchObject({ ok: true, checked: before + 3, first_bad_seq: null });
  });

  it("appends nothing in the platform's scope: readings are a tenant's", async () => {
    await scopes.platform();
    await expect(append(clinic.id, ["patient.one"])).rejects.toMatchObject({ code: "42501" });
    await login.query("reset role");
  });

  it.each([
    ["those that are named, in the order they are named in", [3, 1], ["patient.three", "patient.one"]],
    ["none, if none is named", [], []],
  ])("appends %s", async (_what, places, written) => {
    await scopes.tenant();
    const before = await total();
    await append(clinic.id, ["patient.one", "patient.two", "patient.three"], places);
    expect(await total()).toBe(before + written.length);
    expect((await newest(clinic.id, written.length)).map(({ action }) => action)).toEqual(written);
    expect((await verify()).body.ok).toBe(true);
  });

  it("appends to a log that has no entry yet", async () => {
    // A tenant that was made would have one.
    const id = 424_242;
    await login.query("select set_config('app.tenant_id', $1, false)", [String(id)]);
    await append(id, ["patient.one", "patient.two"]);
    const { body } = await verify(superadmin, `?tenant_id=${id}`);
    expect(body).toMatchObject({ ok: true, checked: 2, first_bad_seq: null });
  });

  it("appends nothing of several of which one is refused", async () => {
    await scopes.tenant();
    const before = await total();
    await expect(
      append(clinic.id, ["patient.one", "patient.Not An Action", "patient.three"]),
    ).rejects.toThrow(/check constraint/);
    expect(await total()).toBe(before);
    expect((await verify()).body.ok).toBe(true);
  });

  it("appends to the one chain that changes and readings extend in the same moment", async () => {
    await scopes.tenant();
    const patient = await service.call("POST", "/api/patients", {
      token: clinic.token,
      body: { record_number: "P-1", full_name: "Ada" },
    });
    const others = Array.from({ length: 30 }, (_, n) =>
      n % 3 === 0
        ? makeDepartment(service, clinic.token)
        : service.call("GET", `/api/patients/${patient.body.id}`, { token: clinic.token }),
    );
    for (let n = 0; n < 10; n++) await append(clinic.id, ["patient.one", "patient.two"]);
    await Promise.all(others);
    expect((await verify()).body).toMatchObject({ ok: true, checked: await total(), first_bad_seq: null });
  });

  it("cannot append to another tenant's log", async () => {
    await scopes.tenant();
    const before = await newest(clinic.id + 1, 1);
    await expect(append(clinic.id + 1, ["patient.foreign"])).rejects.toMatchObject({ code: "42501" });
    expect(await newest(clinic.id + 1, 1)).toEqual(before);
  });

  it("cannot write into another tenant's log", async () => {
    await scopes.tenant();
    const other =
      "insert into audit_entries (tenant_id, action, outcome) values ($1, 'patient.foreign', 'ok')";
    await expect(login.query(other, [clinic.id + 1])).rejects.toThrow(/row-level security/);
  });
});

describe("one transaction", () => {
  const { owner } = { owner: () => service.database.owner };
  const rows = async (table: string): Promise<number> =>
    (await owner().query(`select count(*)::integer as n from ${table}`)).rows[0].n;
  const post = (): Promise<Answer> =>
    service.call("POST", "/api/admin/departments", { token: clinic.token, body: { name: "Never" } });

  it.each([
    ["entry", "audit_entries", "action <> 'department.create'"],
    ["event", "events", "kind <> 'department.created'"],
  ])("a change whose %s cannot be written is no change", async (_what, table, rule) => {
    await owner().query(`alter table ${table} add constraint refused check (${rule}) not valid`);
    try {
      const before = await rows("departments");
      const trace = await traceOf(service, async () => {
        const answer = await post();
        expect(answer.status).toBe(500);
        expect(answer.body).toEqual({ detail: "Internal error", code: "internal_error" });
      });
      expect(trace).toEqual({ entries: [], events: [] });
      expect(await rows("departments")).toBe(before);
    } finally {
      await owner().query(`alter table ${table} drop constraint refused`);
    }
    expect((await post()).status).toBe(201);
    expect((await verify()).body.ok).toBe(true);
  });

  it("changes that are refused leave neither entry nor event, but a refusal by role is an entry", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const user = await makeUser(service, clinic.token, { department_id: ward.id });
    const token = clinic.token;
    const call = (method: string, path: string, body?: unknown) =>
      service.call(method, path, { token, body });
    const { entries, events } = await traceOf(service, async () => {
      const answers = [
        await call("DELETE", `/api/admin/departments/${ward.id}`),
        await call("PUT", `/api/admin/departments/${ward.id}`, { head_doctor_id: user.id }),
        await call("POST", "/api/admin/users", { email: "x" }),
        await call("POST", `/api/admin/users/${clinic.admin.id}/block`),
        await call("DELETE", "/api/admin/users/2000000000"),
        await call("PUT", `/api/admin/users/${user.id}/role`, { role: "superadmin" }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([409, 422, 422, 409, 404, 403]);
    });
    expect(entries).toMatchObject([
      {
        action: "user.set_role",
        outcome: "denied",
        target_id: String(user.id),
        changes: { code: "role_too_high" },
      },
    ]);
    expect(events).toEqual([]);
  });

  it("a hundred changes at once leave a hundred entries, a hundred events, and no gap", async () => {
    const { entries, events } = await traceOf(service, async () => {
      await Promise.all(Array.from({ length: 100 }, () => makeDepartment(service, clinic.token)));
    });
    expect(entries.map(({ action }) => action)).toEqual(entries.map(() => "department.create"));
    expect([entries.length, events.length]).toEqual([100, 100]);
    const told = events.map(({ payload }) => Number(payload.department_id)).sort();
    const noted = entries.map(({ target_id: id }) => Number(id)).sort();
    expect(told).toEqual(noted);
    expect((await verify()).body).toMatchObject({ ok: true, checked: await total(), first_bad_seq: null });
  });
});
