// What leaves the service for a proof outside: the log page by page, and a tenant's signed checkpoints.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { checkpoint } from "../support/checkpoint-scene.ts";
import { reasonsOf, traceOf } from "../support/journal.ts";
import { type Answer, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let other: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService({ AUDIT_CHECKPOINT_MINUTES: "60" });
  // The run that follows the start by some seconds must not come in between.
  await eventually(
    async () => (await service.database.owner.query("select from audit_checkpoints limit 1")).rowCount === 1,
  );
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  other = await makeClinic(service, superadmin);
  for (let i = 0; i < 4; i++) {
    await makeDepartment(service, clinic.token);
    await checkpoint(service);
  }
});
afterAll(() => service.stop());

const ask = (what: string, query = "", token = clinic.token): Promise<Answer> =>
  service.call("GET", `/api/admin/audit/${what}?${query}`, { token });

describe("the export", () => {
  it("has whole entries, oldest first, as the list has them", async () => {
    const list = await service.call("GET", "/api/admin/audit?limit=200&sort_by=seq&sort_order=asc", {
      token: clinic.token,
    });
    const { status, body, headers } = await ask("export");
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(body).toEqual({ entries: list.body.items, next_after_seq: null });
  });

  it("goes on page by page, and ends though it is audited itself", async () => {
    const end = (await ask("export")).body.entries.length;
    const seqs: number[] = [];
    let after: number | null = 0;
    for (let pages = 0; after !== null && pages < 100; pages++) {
      const { body }: Answer = await ask("export", `after_seq=${after}&limit=3`);
      seqs.push(...body.entries.map(({ seq }: { seq: number }) => seq));
      after = body.next_after_seq;
    }
    expect(after).toBeNull();
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, at) => at + 1));
    expect(seqs.length).toBeGreaterThanOrEqual(end);
  });

  it("is an entry of the log that was read", async () => {
    const own = await traceOf(service, () => ask("export", "after_seq=2&limit=3"));
    expect(own.entries).toMatchObject([
      {
        tenant_id: clinic.id,
        user_id: clinic.admin.id,
        action: "audit.export",
        changes: { after_seq: 2, entries: 3 },
      },
    ]);
    const theirs = await traceOf(service, () => ask("export", `tenant_id=${clinic.id}&limit=1`, superadmin));
    expect(theirs.entries).toMatchObject([{ tenant_id: clinic.id, user_id: 1, action: "audit.export" }]);
  });

  it("of nothing is empty and leaves no entry", async () => {
    const { entries } = await traceOf(service, async () => {
      for (const query of ["tenant_id=2000000000", `tenant_id=${clinic.id}&after_seq=1000000`]) {
        expect((await ask("export", query, superadmin)).body).toEqual({ entries: [], next_after_seq: null });
      }
    });
    expect(entries).toEqual([]);
  });

  it("ends a page early where entries are large, and loses none", async () => {
    const own = await makeClinic(service, superadmin);
    const first = (await ask("export", "", own.token)).body.entries.length + 1;
    await service.database.owner.query(
      `insert into audit_entries (tenant_id, action, outcome, changes)
       select $1, 'test.large', 'ok', ('{"text":"' || repeat('x', 60000) || '"}')::json from generate_series(1, 100)`,
      [own.id],
    );
    const page = (await ask("export", `after_seq=${first}`, own.token)).body;
    expect(page.entries.length).toBeGreaterThan(50);
    expect(page.entries.length).toBeLessThan(80);
    expect(page.next_after_seq).toBe(first + page.entries.length);
    const rest = (await ask("export", `after_seq=${page.next_after_seq}`, own.token)).body;
    expect(rest.entries[0].seq).toBe(page.next_after_seq + 1);
    const large = [...page.entries, ...rest.entries].filter(({ action }) => action === "test.large");
    expect([large.length, rest.next_after_seq]).toEqual([100, null]);
  });
});

describe("checkpoints", () => {
  it("are the tenant's own alone, newest first, with the keys that they are signed by", async () => {
    const { status, body } = await ask("checkpoints");
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["items", "next_before", "keys"]);
    expect(body.items.length).toBeGreaterThanOrEqual(4);
    const numbers = body.items.map(({ number }: { number: number }) => number);
    expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
    for (const { heads, key_id: id } of body.items) {
      expect(heads).toEqual([
        {
          hash: expect.stringMatching(/^[0-9a-f]{64}$/),
          seq: expect.any(Number),
          tenant_id: clinic.id,
          verified: true,
        },
      ]);
      expect(body.keys.map(({ key_id: each }: { key_id: string }) => each)).toContain(id);
    }
    expect(body.keys[0].public_key).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  });

  it("come in pages", async () => {
    const all = (await ask("checkpoints", "limit=100")).body;
    const first = (await ask("checkpoints", "limit=2")).body;
    expect(first.items).toEqual(all.items.slice(0, 2));
    const second = (await ask("checkpoints", `limit=2&before=${first.next_before}`)).body;
    expect(second.items).toEqual(all.items.slice(2, 4));
    expect(all.next_before).toBeNull();
  });

  it("that the database's owner has altered are left out", async () => {
    const { owner } = service.database;
    const before = (await ask("checkpoints", "limit=100")).body.items;
    const { number } = before[0];
    const { rows } = await owner.query("select document from audit_checkpoints where number = $1", [number]);
    const set = (document: string) =>
      owner.query("update audit_checkpoints set document = $2 where number = $1", [number, document]);
    await set(rows[0].document.replace(/"seq":\d+/, '"seq":1'));
    expect((await ask("checkpoints", "limit=100")).body.items).toEqual(before.slice(1));
    await set(rows[0].document);
    expect((await ask("checkpoints", "limit=100")).body.items).toEqual(before);
  });

  it("of a log that has none yet are none", async () => {
    const own = await makeClinic(service, superadmin);
    expect((await ask("checkpoints", "", own.token)).body).toMatchObject({ items: [], next_before: null });
  });
});

describe.each(["export", "checkpoints"])(
  "%s is for administrators of the tenant, and superadmins",
  (what) => {
    it.each(["head_doctor", "doctor", "nurse", "registrar"] as const)("not for a %s", async (role) => {
      const token = await service.signIn(role);
      expect((await ask(what, "", token)).status).toBe(403);
      expect(Object.keys(await reasonsOf(service, `audit.${what}`, undefined))).toContain("forbidden");
    });
    it("not for another tenant's", async () => {
      expect((await ask(what, `tenant_id=${clinic.id}`, other.token)).status).toBe(403);
      expect((await ask(what, `tenant_id=${other.id}`, superadmin)).status).toBe(200);
    });
    it("not for nobody", async () => {
      expect((await service.call("GET", `/api/admin/audit/${what}`)).status).toBe(401);
    });
    it.each([
      "limit=0",
      "limit=1001",
      "limit=x",
      "tenant_id=0",
      what === "export" ? "after_seq=-1" : "before=0",
    ])("%s is 422", async (query) => expect((await ask(what, query, superadmin)).status).toBe(422));
  },
);
