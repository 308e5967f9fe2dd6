// What can be seen of deliveries and done about them: the test, the log, sending again, recovering, and the log's end.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { deliveriesContract } from "../../../services/webhooks/deliveries.contract.ts";
import { namedPayload } from "../../../services/shared/event-payloads.ts";
import type { EventKind } from "../../../services/shared/event-kinds.ts";
import { resultFaults } from "../../support/result-faults.ts";
import { withHolder } from "../../support/holder.ts";
import { traceOf } from "../../support/journal.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic } from "../../support/tenancy.ts";
import { type Receiver, startReceiver, verified } from "../../support/webhooks.ts";

let service: TestService;
let receiver: Receiver;
let superadmin: string;
let token: string;
let tenantId: number;
const settings = {
  WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
  WEBHOOK_RETRY_SECONDS: "0,0",
  REQUEST_TIMEOUT_MS: "3000",
};

beforeAll(async () => {
  [service, receiver] = await Promise.all([startService(settings), startReceiver()]);
  superadmin = await service.signIn("superadmin");
  ({ token, id: tenantId } = await makeClinic(service, superadmin));
});
afterAll(async () => {
  await receiver?.stop();
  await service?.stop();
});
beforeEach(() => {
  receiver.answer = (_received, response) => void response.end("ok");
});

const call = (method: string, path: string, body?: unknown, as = token) =>
  service.call(method, path, { token: as, body });
async function register(
  path: string,
  events = ["department.created"],
): Promise<{ id: number; secret: string }> {
  const answer = await call("POST", "/api/webhooks/register", { url: `${receiver.url}/${path}`, events });
  expect(answer.status).toBe(201);
  return answer.body;
}
let departments = 0;
const change = async () => {
  const answer = await call("POST", "/api/admin/departments", { name: `Ward ${++departments}` });
  expect(answer.status).toBe(201);
};
const log = async (id: number, query = "") =>
  (await call("GET", `/api/webhooks/${id}/deliveries${query}`)).body;
const logged = (id: number, states: string[]) =>
  eventually(async () => {
    const { items } = await log(id);
    const found = items.map(({ state }: { state: string }) => state).sort();
    return JSON.stringify(found) === JSON.stringify([...states].sort()) && items;
  });
const cameTo = (path: string) => receiver.received.filter((each) => each.path === `/${path}`);

describe("a test", () => {
  it("is one signed webhook.test, and its outcome the answer", async () => {
    const hook = await register("test");
    receiver.answer = (_received, response) => void response.writeHead(201).end("thank you");
    const { status, body } = await call("POST", `/api/webhooks/${hook.id}/test`);
    expect(status).toBe(200);
    expect(body).toEqual({
      delivered: true,
      status_code: 201,
      duration_ms: expect.any(Number),
      error: null,
      response: "thank you",
    });
    const [received] = cameTo("test");
    expect(received && verified(hook.secret, received)).toMatchObject({
      type: "webhook.test",
      data: { webhook_id: hook.id },
    });
    expect((await log(hook.id)).total).toBe(0);
  });

  it.each([
    ["a redirect", 302, "redirect"],
    ["an error", 500, "unexpected_status"],
  ])("that meets %s was not delivered", async (_case, code, error) => {
    const hook = await register("bad");
    receiver.answer = (_received, response) => void response.writeHead(code, { location: "/else" }).end("no");
    const { body } = await call("POST", `/api/webhooks/${hook.id}/test`);
    expect(body).toMatchObject({ delivered: false, status_code: code, error, response: "no" });
  });

  it("shows the beginning of a long answer, and none of what PostgreSQL could not hold", async () => {
    const hook = await register("long");
    receiver.answer = (_received, response) => void response.end(`\0${"ü".repeat(5_000)}`);
    const { body } = await call("POST", `/api/webhooks/${hook.id}/test`);
    expect(Buffer.byteLength(body.response)).toBeLessThanOrEqual(1_024);
    expect(body.response).toMatch(/^\ufffdü+$/);
  });

  it("of a receiver that never answers is answered before the call is given up", async () => {
    const hook = await register("never");
    receiver.answer = () => {};
    const { status, body } = await call("POST", `/api/webhooks/${hook.id}/test`);
    expect([status, body.delivered, body.error]).toEqual([200, false, "timeout"]);
  });

  it("of an address that moved inside reaches nothing", async () => {
    const hook = await register("inside");
    await service.database.owner.query("update webhooks set url = 'http://10.0.0.1/' where id = $1", [
      hook.id,
    ]);
    const { body } = await call("POST", `/api/webhooks/${hook.id}/test`);
    expect(body).toMatchObject({ delivered: false, status_code: null, error: "blocked", response: null });
  });

  it("is refused after ten in a minute, for this webhook alone", async () => {
    const [hook, other] = [await register("busy"), await register("other")];
    const statuses = new Map<number, number>();
    for (let n = 0; n < 12; n++) {
      const { status, headers } = await call("POST", `/api/webhooks/${hook.id}/test`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 429) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(Object.fromEntries(statuses)).toEqual({ 200: 10, 429: 2 });
    expect(cameTo("busy")).toHaveLength(10);
    expect((await call("POST", `/api/webhooks/${other.id}/test`)).status).toBe(200);
  });
});

describe("a delivery in the log", () => {
  it("has the payload of its kind, as the interface describes it", async () => {
    const hook = await register("kinds", ["*"]);
    const user = { email: "kinds@clinic.example", password: "a long and quiet evening", full_name: "Ada" };
    const made = await call("POST", "/api/admin/users", { ...user, role: "nurse" });
    expect(made.status).toBe(201);
    await call("PUT", `/api/admin/users/${made.body.id}/role`, { role: "registrar" });
    await call("POST", `/api/admin/users/${made.body.id}/block`);
    await call("PUT", `/api/admin/tenants/${tenantId}`, { settings: { registration: "closed" } });
    const kinds = ["tenant.updated", "user.blocked", "user.created", "user.role_changed"];
    const page = await eventually(async () => {
      const found = await log(hook.id);
      return found.total === kinds.length && found;
    });
    expect(resultFaults(deliveriesContract["webhooks.deliveries"].result, page)).toEqual([]);
    const items: { kind: EventKind; data: object }[] = page.items;
    expect(items.map(({ kind }) => kind).sort()).toEqual(kinds);
    for (const { kind, data } of items) expect(resultFaults(namedPayload(kind), data)).toEqual([]);
    expect((await call("DELETE", `/api/webhooks/${hook.id}`)).status).toBe(204);
  });
});

describe("the log", () => {
  it("shows each delivery with its last attempt, newest first, by page, state and kind", async () => {
    const hook = await register("log", ["department.created", "department.deleted"]);
    await change();
    await logged(hook.id, ["succeeded"]);
    receiver.answer = (_received, response) => void response.writeHead(500).end("broken");
    await change();
    const items = await logged(hook.id, ["succeeded", "failed"]);
    expect(items[0]).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      webhook_id: hook.id,
      event_id: expect.any(Number),
      seq: 2,
      kind: "department.created",
      data: { department_id: expect.any(Number) },
      state: "failed",
      cause: "scheduled",
      attempts: 2,
      created_at: expect.stringMatching(/Z$/),
      next_attempt_at: null,
      finished_at: expect.stringMatching(/Z$/),
      last_attempt: {
        attempted_at: expect.stringMatching(/Z$/),
        status_code: 500,
        duration_ms: expect.any(Number),
        error: "unexpected_status",
        response: "broken",
      },
    });
    expect(items[0].id).toBe(cameTo("log").at(-1)?.headers["webhook-id"]);
    expect((await log(hook.id, "?limit=1&page=2")).items[0].seq).toBe(1);
    expect((await log(hook.id, "?sort_order=asc")).items[0].seq).toBe(1);
    expect((await log(hook.id, "?state=failed")).total).toBe(1);
    expect((await log(hook.id, "?kind=department.deleted")).total).toBe(0);
    expect(await log(hook.id, "?page=9")).toMatchObject({ items: [], total: 2, pages: 1 });
  });

  it.each(["?state=lost", "?kind=user.eaten", "?sort_by=url", "?limit=201", "?page=0"])(
    "refuses %s",
    async (query) => {
      const hook = await register("refusing");
      expect((await call("GET", `/api/webhooks/${hook.id}/deliveries${query}`)).status).toBe(422);
    },
  );
});

describe("resend", () => {
  it("sends a delivery again under its id, in whatever state it is, and is in the audit log", async () => {
    const hook = await register("resend");
    await change();
    const [{ id }] = await logged(hook.id, ["succeeded"]);
    const { entries } = await traceOf(service, async () => {
      const answer = await call("POST", `/api/webhooks/${hook.id}/deliveries/${id}/resend`);
      expect(answer.status).toBe(202);
      expect(answer.body).toMatchObject({ id, state: "pending", cause: "manual" });
    });
    expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
      ["webhook.resend", { delivery_id: id }],
    ]);
    await eventually(async () => cameTo("resend").length === 2);
    const came = cameTo("resend");
    expect(new Set(came.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([id]));
    expect(came[0]?.body).toBe(came[1]?.body);
    expect((await logged(hook.id, ["succeeded"]))[0]).toMatchObject({ attempts: 2, cause: "manual" });
  });

  it.each(["msg_00000000000070008000000000000000", "1", "msg_x", "..%2f"])("of %s is 404", async (id) => {
    const hook = await register("resend-404");
    expect((await call("POST", `/api/webhooks/${hook.id}/deliveries/${id}/resend`)).status).toBe(404);
  });

  it("of another webhook's or tenant's delivery is 404, of one that is off 409", async () => {
    const [hook, second] = [await register("mine"), await register("second")];
    await change();
    const [{ id }] = await logged(hook.id, ["succeeded"]);
    const path = `deliveries/${id}/resend`;
    const { token: stranger } = await makeClinic(service, superadmin);
    expect((await call("POST", `/api/webhooks/${second.id}/${path}`)).status).toBe(404);
    expect((await call("POST", `/api/webhooks/${hook.id}/${path}`, undefined, stranger)).status).toBe(404);
    await call("PUT", `/api/webhooks/${hook.id}`, { is_active: false });
    const refused = await call("POST", `/api/webhooks/${hook.id}/${path}`);
    expect([refused.status, refused.body.code]).toEqual([409, "webhook_inactive"]);
  });
});

describe("recover", () => {
  const recover = (id: number, body: unknown = { since: "2026-01-01" }) =>
    call("POST", `/api/webhooks/${id}/recover`, body);

  it("sends what failed, what was canceled and what happened while it was off, once", async () => {
    const hook = await register("recover");
    await change();
    await logged(hook.id, ["succeeded"]);
    receiver.answer = (_received, response) => void response.writeHead(500).end();
    await change();
    await logged(hook.id, ["succeeded", "failed"]);
    await call("PUT", `/api/webhooks/${hook.id}`, { is_active: false });
    await change();
    await eventually(async () => {
      const { rows } = await service.database.owner.query("select from fan_out_queue");
      return rows.length === 0;
    });
    await call("PUT", `/api/webhooks/${hook.id}`, { is_active: true });
    receiver.answer = (_received, response) => void response.end();
    const before = cameTo("recover").length;
    const { entries } = await traceOf(service, async () => {
      const answers = await Promise.all([recover(hook.id), recover(hook.id), recover(hook.id)]);
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
      expect(answers[0]?.body).toEqual({ webhook_id: hook.id, since: "2026-01-01T00:00:00.000Z" });
    });
    expect(entries[0]).toMatchObject({ action: "webhook.recover" });
    const items = await logged(hook.id, ["succeeded", "succeeded", "succeeded"]);
    expect(items.map(({ seq, cause }: { seq: number; cause: string }) => [seq, cause])).toEqual([
      [3, "recover"],
      [2, "recover"],
      [1, "scheduled"],
    ]);
    await recover(hook.id);
    await eventually(async () => {
      const { rows } = await service.database.owner.query("select from graphile_worker._private_jobs");
      return rows.length === 0;
    });
    expect(cameTo("recover")).toHaveLength(before + 2);
  });

  it("waits for a fan-out under way, so that no two deliveries have one number", async () => {
    const hook = await register("beside");
    const { owner } = service.database;
    await change();
    await logged(hook.id, ["succeeded"]);
    await owner.query("delete from deliveries where target_id = $1", [hook.id]);
    const seqs = await withHolder(service.database.url, async (holder) => {
      // As fan-out.ts does it with an event that it has in its hands: it holds the tenant, draws a number, delivers.
      await holder.query("select pg_advisory_xact_lock($1, $2)", [0x0fa4, tenantId]);
      expect((await recover(hook.id)).status).toBe(202);
      await holder.awaited();
      await holder.query(
        `with bumped as (update delivery_targets set last_seq = last_seq + 1 where id = $1 returning last_seq),
           event as (insert into events (tenant_id, kind, payload) values ($2, 'user.created', '{}') returning id)
         insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at, state, finished_at)
         select $2, $1, event.id, last_seq, 'user.created', '{}', now(), now(), 'succeeded', now() from bumped, event`,
        [hook.id, tenantId],
      );
      await holder.commit();
      return eventually(async () => {
        const { rows } = await owner.query("select seq from deliveries where target_id = $1 order by seq", [
          hook.id,
        ]);
        return rows.length === 2 && rows.map(({ seq }) => Number(seq));
      });
    });
    expect(seqs).toEqual([2, 3]);
  });

  it("leaves alone what is older, and what happened before the registration", async () => {
    await change();
    const hook = await register("recover-since");
    receiver.answer = (_received, response) => void response.writeHead(500).end();
    await change();
    await logged(hook.id, ["failed"]);
    receiver.answer = (_received, response) => void response.end();
    const since = new Date().toISOString();
    expect((await recover(hook.id, { since })).status).toBe(202);
    await change();
    await logged(hook.id, ["failed", "succeeded"]);
    await recover(hook.id, { since: "2020-01-01" });
    await logged(hook.id, ["succeeded", "succeeded"]);
  });

  it.each([[{}], [{ since: "yesterday" }], [{ since: "2999-01-01" }], [{ since: null }]])(
    "refuses %j",
    async (body) => {
      const hook = await register("recover-422");
      expect((await recover(hook.id, body)).status).toBe(422);
    },
  );

  it("of a webhook that is off is 409", async () => {
    const hook = await register("recover-409");
    await call("PUT", `/api/webhooks/${hook.id}`, { is_active: false });
    expect((await recover(hook.id)).status).toBe(409);
  });
});

describe("health and the sweep", () => {
  it("counts webhooks and deliveries of the caller's tenant", async () => {
    const { body } = await call("GET", "/api/admin/health");
    const { rows } = await service.database.owner.query(
      `select (select count(*)::integer from delivery_targets where tenant_id = $1 and deleted_at is null) as webhooks_count,
         (select count(*)::integer from deliveries where tenant_id = $1 and state = 'pending') as pending_deliveries,
         (select count(*)::integer from deliveries where tenant_id = $1 and state = 'failed') as failed_deliveries`,
      [tenantId],
    );
    expect(body).toMatchObject(rows[0]);
    expect(rows[0].webhooks_count).toBeGreaterThan(5);
  });

  it("a night's sweep takes what is older than ninety days, and what belongs to nobody any more", async () => {
    const { owner } = service.database;
    const [kept, deleted] = [await register("kept"), await register("deleted")];
    await change();
    await logged(kept.id, ["succeeded"]);
    await logged(deleted.id, ["succeeded"]);
    const day = 86_400_000;
    const idOf = (daysAgo: number) => (Date.now() - daysAgo * day).toString(16).padStart(12, "0");
    for (const [daysAgo, seq] of [
      [91, 1001],
      [89, 1002],
    ] as const) {
      await owner.query(
        `insert into deliveries (id, tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at, state, finished_at)
         values (($1 || '70008000000000000000')::uuid, $2, $3, $4, $4, 'user.created', '{}', now(), now(), 'failed', now())`,
        [idOf(daysAgo), tenantId, kept.id, seq],
      );
      await owner.query(
        `insert into delivery_attempts (tenant_id, delivery_id, cause, duration_ms)
         select $2, (d.id || r.rest)::uuid, 'scheduled', 1
         from (values ($1)) d (id), (values ('70008000000000000000'), ('70008000000000000001')) r (rest)`,
        [idOf(daysAgo), tenantId],
      );
      await owner.query(
        "insert into events (tenant_id, kind, payload, created_at) values ($1, 'tenant.updated', '{}', now() - make_interval(days => $2))",
        [tenantId, daysAgo],
      );
    }
    expect((await call("DELETE", `/api/webhooks/${deleted.id}`)).status).toBe(204);
    await owner.query("select graphile_worker.add_job('webhooks.sweep')");
    await eventually(async () => {
      const { rows } = await owner.query("select from delivery_targets where id = $1", [deleted.id]);
      return rows.length === 0;
    });
    expect((await log(kept.id)).items.map(({ seq }: { seq: number }) => seq).sort()).toEqual([1, 1002]);
    const { rows } = await owner.query(
      `select count(*) filter (where created_at < now() - interval '90 days')::integer as old,
         count(*) filter (where created_at < now() - interval '88 days')::integer as all_old from events`,
    );
    expect(rows).toEqual([{ old: 0, all_old: 1 }]);
    const attempts = await owner.query(
      "select count(*)::integer as kept from delivery_attempts where duration_ms = 1 and tenant_id = $1 and delivery_id::text like '%-7000-8000-00000000000_'",
      [tenantId],
    );
    // Those of 89 days ago: of a delivery, and of one that is gone.
    expect(attempts.rows).toEqual([{ kept: 2 }]);
  });
});
