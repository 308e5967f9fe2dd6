// From a change to a signed POST, against a real receiver: who is told what, signed how, in which order, and what happens
// when the receiver does not want it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { startCanary } from "../../support/canary.ts";
import { cardBody, cardSignature, paymentSettings } from "../../support/notifications.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic } from "../../support/tenancy.ts";
import { type Received, type Receiver, startReceiver, verified } from "../../support/webhooks.ts";

let service: TestService;
let receiver: Receiver;
let superadmin: string;
const settings = {
  WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
  WEBHOOK_RETRY_SECONDS: "0,0,1,1",
  KEYS_HELD_SECONDS: "1",
  ...paymentSettings,
};

interface Clinic {
  id: number;
  token: string;
}
interface Hook {
  id: number;
  secret: string;
}

beforeAll(async () => {
  [service, receiver] = await Promise.all([startService(settings), startReceiver()]);
  superadmin = await service.signIn("superadmin");
});
afterAll(async () => {
  await receiver?.stop();
  await service?.stop();
});
beforeEach(() => {
  receiver.answer = (_received, response) => void response.end("ok");
});

const clinic = (): Promise<Clinic> => makeClinic(service, superadmin);

async function register({ token }: Clinic, path: string, events: string[], secret?: string): Promise<Hook> {
  const body = { url: `${receiver.url}/${path}`, events, ...(secret === undefined ? {} : { secret }) };
  const answer = await service.call("POST", "/api/webhooks/register", { token, body });
  expect(answer.status).toBe(201);
  return { id: answer.body.id, secret: secret ?? answer.body.secret };
}

const put = ({ token }: Clinic, { id }: Hook, body: unknown) =>
  service.call("PUT", `/api/webhooks/${id}`, { token, body });

let departments = 0;
async function change({ token }: Clinic): Promise<number> {
  const body = { name: `Unit ${++departments}` };
  const answer = await service.call("POST", "/api/admin/departments", { token, body });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

const cameTo = (path: string) => receiver.received.filter((each) => each.path === `/${path}`);
const arrived = (path: string, count = 1): Promise<Received[]> =>
  eventually(async () => {
    const came = cameTo(path);
    return came.length >= count && came;
  });
/** The first that comes; a test without it fails. */
const first = async (path: string): Promise<Received> => {
  const [received] = await arrived(path);
  if (received === undefined) throw new Error(`nothing came to ${path}`);
  return received;
};

const statesOf = async ({ id }: Hook): Promise<Record<string, number>> => {
  const { rows } = await service.database.owner.query(
    "select state, count(*)::integer as count from deliveries where target_id = $1 group by state",
    [id],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
};
const settled = (hook: Hook, states: Record<string, number>) =>
  eventually(async () => JSON.stringify(await statesOf(hook)) === JSON.stringify(states));

describe("a delivery", () => {
  it("is a signed POST with the event, and ends in the log", async () => {
    const own = await clinic();
    const hook = await register(own, "first", ["department.created"]);
    const departmentId = await change(own);
    const received = await first("first");
    expect(verified(hook.secret, received)).toEqual({
      type: "department.created",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: { department_id: departmentId },
    });
    expect(received.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      "webhook-sequence": "1",
    });
    expect(() => verified("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", received)).toThrow();
    expect(() => verified(hook.secret, { ...received, body: received.body.replace("{", "{ ") })).toThrow();
    await settled(hook, { succeeded: 1 });
    const { rows } = await service.database.owner.query(
      `select a.status_code, a.error, a.response, a.cause from delivery_attempts a
       join deliveries d on d.id = a.delivery_id where d.target_id = $1`,
      [hook.id],
    );
    expect(rows).toEqual([{ status_code: 200, error: null, response: "ok", cause: "scheduled" }]);
  });

  it("comes to those that asked for the kind, of this tenant alone, and from the registration on", async () => {
    const [own, other] = await Promise.all([clinic(), clinic()]);
    await change(own);
    const [all, some, none, foreign] = await Promise.all([
      register(own, "all", ["*"]),
      register(own, "some", ["department.created", "user.deleted"]),
      register(own, "none", ["user.created"]),
      register(other, "foreign", ["*"]),
    ]);
    await change(own);
    await arrived("all");
    await arrived("some");
    await settled(all, { succeeded: 1 });
    await settled(some, { succeeded: 1 });
    expect([await statesOf(none), await statesOf(foreign)]).toEqual([{}, {}]);
  });

  it("comes in the order of the events, each once, numbered without a gap", async () => {
    const own = await clinic();
    const hook = await register(own, "order", ["department.created"]);
    const ids: number[] = [];
    for (let n = 0; n < 40; n++) ids.push(await change(own));
    const came = await arrived("order", 40);
    const sequence = came.map(({ headers }) => Number(headers["webhook-sequence"]));
    expect([...sequence].sort((a, b) => a - b)).toEqual(ids.map((_, at) => at + 1));
    const bySequence = [...came].sort(
      (a, b) => Number(a.headers["webhook-sequence"]) - Number(b.headers["webhook-sequence"]),
    );
    expect(bySequence.map((each) => verified(hook.secret, each).data.department_id)).toEqual(ids);
    expect(new Set(came.map(({ headers }) => headers["webhook-id"])).size).toBe(40);
    await settled(hook, { succeeded: 40 });
    expect(cameTo("order")).toHaveLength(40);
  });

  it("tells what a payment provider told us", async () => {
    const admin = { id: 0, token: await service.signIn("admin") };
    const hook = await register(admin, "paid", ["payment.succeeded"]);
    const body = cardBody({ id: "evt-1" });
    const headers = { "provider-signature": cardSignature(body) };
    const answer = await service.call("POST", "/webhooks/card-provider", { body, headers });
    expect(answer.status).toBe(200);
    expect(verified(hook.secret, await first("paid")).type).toBe("payment.succeeded");
  });

  it("of a plain secret is signed with its characters", async () => {
    const own = await clinic();
    const hook = await register(own, "plain", ["*"], "sixteen letters!");
    await change(own);
    expect(verified(hook.secret, await first("plain")).type).toBe("department.created");
  });

  it("is not made for a webhook that is switched off, nor for a tenant that is", async () => {
    const own = await clinic();
    const hook = await register(own, "off", ["*"]);
    await put(own, hook, { is_active: false });
    await change(own);
    await put(own, hook, { is_active: true });
    await change(own);
    await arrived("off");
    await settled(hook, { succeeded: 1 });
    const path = `/api/admin/tenants/${own.id}`;
    await service.call("PUT", path, { token: superadmin, body: { is_active: false } });
    await eventually(async () => {
      const { rows } = await service.database.owner.query("select from fan_out_queue");
      return rows.length === 0;
    });
    // Of both changes of the tenant none came to it.
    expect(await statesOf(hook)).toEqual({ succeeded: 1 });
  });
});

describe("a receiver that fails", () => {
  it("is tried again with the same id and the same bytes, newly signed, until it takes it", async () => {
    const own = await clinic();
    const hook = await register(own, "again", ["*"]);
    receiver.answer = (_received, response) => {
      response.statusCode = cameTo("again").length < 3 ? 500 : 204;
      response.end();
    };
    await change(own);
    const came = await arrived("again", 3);
    expect(new Set(came.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(came.map(({ body }) => body)).size).toBe(1);
    for (const each of came) verified(hook.secret, each);
    expect(new Set(came.map(({ headers }) => headers["webhook-timestamp"])).size).toBeGreaterThan(1);
    await settled(hook, { succeeded: 1 });
    const { rows } = await service.database.owner.query(
      `select array_agg(status_code order by id) as codes, array_agg(error order by id) as errors from delivery_attempts
       where delivery_id = (select id from deliveries where target_id = $1)`,
      [hook.id],
    );
    const fault = "unexpected_status";
    expect(rows).toEqual([{ codes: [500, 500, 204], errors: [fault, fault, null] }]);
  });

  it("too often ends the delivery as failed; its failures are forgotten with the next success", async () => {
    const own = await clinic();
    const hook = await register(own, "never", ["*"]);
    receiver.answer = (_received, response) => void response.writeHead(302, { location: "/all" }).end();
    await change(own);
    await settled(hook, { failed: 1 });
    expect(cameTo("never")).toHaveLength(4);
    const failingSince = async () =>
      (await service.call("GET", "/api/webhooks", { token: own.token })).body[0].failing_since;
    expect(await failingSince()).toMatch(/Z$/);
    receiver.answer = (_received, response) => void response.end();
    await change(own);
    await settled(hook, { failed: 1, succeeded: 1 });
    await eventually(async () => (await failingSince()) === null);
  });

  it("and asks for patience is left alone for so long", async () => {
    const own = await clinic();
    const hook = await register(own, "patience", ["*"]);
    receiver.answer = (_received, response) => {
      response.writeHead(cameTo("patience").length < 2 ? 429 : 200, { "retry-after": "2" }).end();
    };
    await change(own);
    const [earlier, later] = (await arrived("patience", 2)).map(({ at }) => at);
    expect(Number(later) - Number(earlier)).toBeGreaterThan(1_900);
    await settled(hook, { succeeded: 1 });
  });

  it("hinders no other webhook, however it fails", async () => {
    const own = await clinic();
    const [hanging, well] = [await register(own, "hanging", ["*"]), await register(own, "well", ["*"])];
    receiver.answer = ({ path }, response) => void (path === "/hanging" || response.end());
    for (let n = 0; n < 15; n++) await change(own);
    await arrived("well", 15);
    await settled(well, { succeeded: 15 });
    // Ten in flight at one endpoint, and no more.
    expect(cameTo("hanging")).toHaveLength(10);
    await put(own, hanging, { is_active: false });
  });

  it("says 410 and is switched off, with an event, an entry and a mail", async () => {
    const own = await clinic();
    const [gone, witness] = [await register(own, "gone", ["*"]), await register(own, "witness", ["*"])];
    receiver.answer = ({ path }, response) => void response.writeHead(path === "/gone" ? 410 : 200).end();
    await change(own);
    await arrived("witness", 2);
    const told = cameTo("witness").map((each) => verified(witness.secret, each));
    expect(told.find(({ type }) => type === "webhook.disabled")?.data).toEqual({
      webhook_id: gone.id,
      reason: "gone",
    });
    const { body } = await service.call("GET", "/api/webhooks", { token: own.token });
    expect(body[0]).toMatchObject({ is_active: false, disabled_reason: "gone" });
    const { rows } = await service.database.owner.query(
      "select changes from audit_entries where action = 'webhook.disable' and target_id = $1",
      [String(gone.id)],
    );
    expect(rows).toEqual([{ changes: { reason: "gone" } }]);
    await eventually(async () => (await lettersAbout(`Webhook ${gone.id} was switched off`)) === 1);
    expect(await statesOf(gone)).toEqual({ failed: 1 });
  });

  it("for five days is switched off; what waited for it is canceled", async () => {
    const own = await clinic();
    const hook = await register(own, "dead", ["*"]);
    receiver.answer = (_received, response) => void response.writeHead(503, { "retry-after": "3600" }).end();
    await change(own);
    await arrived("dead");
    const age = (hours: number) =>
      service.database.owner.query(
        `update webhooks set failing_since = now() - make_interval(hours => $2) where id = $1 and failing_since is not null`,
        [hook.id, hours],
      );
    // As soon as it is noted that it fails. How long it has failed a worker knows for a second, and what follows from a
    // result is done before the next results are written: so two results with more than a second between them say it.
    await eventually(async () => ((await age(119)).rowCount ?? 0) === 1);
    const agedAt = Date.now();
    await eventually(async () => {
      await change(own);
      const { rows } = await service.database.owner.query(
        `select max(attempted_at) - min(attempted_at) > interval '1 second' as enough from delivery_attempts a
         join deliveries d on d.id = a.delivery_id where d.target_id = $1 and attempted_at > $2`,
        [hook.id, new Date(agedAt + 2_000)],
      );
      return rows[0].enough === true;
    });
    const state = async () => (await service.call("GET", "/api/webhooks", { token: own.token })).body[0];
    expect(await state()).toMatchObject({ is_active: true });
    await age(121);
    await eventually(async () => {
      await change(own);
      return (await state()).disabled_reason === "failing";
    });
    await eventually(async () => {
      const states = await statesOf(hook);
      return (states.canceled ?? 0) >= 2 && states.pending === undefined;
    });
    await put(own, hook, { is_active: true });
    expect(await state()).toMatchObject({ is_active: true, failing_since: null });
  });
});

describe("secrets", () => {
  it("old and new sign for a day after a change, then the new one alone", async () => {
    const own = await clinic();
    const hook = await register(own, "both", ["*"]);
    const fresh = "a fresh secret, plain";
    await put(own, hook, { secret: fresh });
    await change(own);
    const received = await first("both");
    expect(String(received.headers["webhook-signature"]).split(" ")).toHaveLength(2);
    for (const secret of [hook.secret, fresh]) verified(secret, received);
    await service.database.owner.query(
      "update webhooks set previous_secret_until = now() - interval '1 second' where id = $1",
      [hook.id],
    );
    const last = await eventually(async () => {
      await change(own);
      const latest = cameTo("both").at(-1);
      return String(latest?.headers["webhook-signature"]).split(" ").length === 1 && latest;
    });
    verified(fresh, last);
    expect(() => verified(hook.secret, last)).toThrow();
  });

  it("are sealed anew by a rotation of the keys, and still sign", async () => {
    const own = await clinic();
    const hook = await register(own, "rotated", ["*"]);
    await put(own, hook, { secret: "the second secret" });
    const sealed = async () =>
      (
        await service.database.owner.query<{ both: string }>(
          "select encode(secret, 'hex') || encode(previous_secret, 'hex') as both from webhooks where id = $1",
          [hook.id],
        )
      ).rows[0]?.both;
    const before = await sealed();
    const body = { new_key: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64") };
    const rotated = await service.call("POST", "/api/admin/encryption/rotate", { token: superadmin, body });
    expect(rotated.status).toBe(200);
    await eventually(async () => (await sealed()) !== before);
    await change(own);
    const received = await first("rotated");
    for (const secret of [hook.secret, "the second secret"]) verified(secret, received);
  });
});

describe("an address that moved inside", () => {
  it("is refused when it comes to delivering, and tried again like any failure", async () => {
    const own = await clinic();
    const hook = await register(own, "moved", ["*"]);
    const canary = await startCanary();
    // As if the name had been pointed elsewhere since: IPv6's loopback is not among what is allowed here.
    await service.database.owner.query("update webhooks set url = $2 where id = $1", [
      hook.id,
      `http://[::1]:${canary.port}/`,
    ]);
    await change(own);
    await settled(hook, { failed: 1 });
    const { rows } = await service.database.owner.query(
      `select distinct a.error from delivery_attempts a join deliveries d on d.id = a.delivery_id
       where d.target_id = $1`,
      [hook.id],
    );
    expect(rows).toEqual([{ error: "blocked" }]);
    expect(canary.connections()).toBe(0);
    await canary.stop();
  });
});

describe("of a secret there is nothing in", () => {
  const needles = ["sixteen letters!", "a fresh secret, plain", "the second secret"];

  it("the log of the process", async () => {
    const { rows } = await service.database.owner.query("select count(*)::integer as hooks from webhooks");
    expect(rows[0].hooks).toBeGreaterThan(5);
    for (const needle of [...needles, "whsec_"]) expect(service.process.output()).not.toContain(needle);
  });

  it("the files of the database, its log of changes included, where the address beside it is found", async () => {
    await service.database.owner.query("checkpoint");
    const folder = join(service.database.folder, "postgres");
    const names = await readdir(folder, { recursive: true });
    const holding = async (words: readonly string[]): Promise<string[]> => {
      const found: string[] = [];
      for (const name of names) {
        const bytes = await readFile(join(folder, name)).catch(() => Buffer.alloc(0));
        if (words.some((word) => bytes.includes(word))) found.push(name);
      }
      return found;
    };
    expect(await holding(needles)).toEqual([]);
    expect((await holding([`${receiver.url}/plain`])).length).toBeGreaterThan(1);
  });
});

/** Mails of this service that are about it; without a mail server they are files. */
async function lettersAbout(subject: string): Promise<number> {
  const folder = join(service.settings.DATA_DIR ?? "", "mail");
  const files = await readdir(folder).catch(() => []);
  const letters = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return letters.filter((letter) => letter.includes(subject)).length;
}
