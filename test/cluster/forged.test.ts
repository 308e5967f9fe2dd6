// A stranger who has the bus's login but not BUS_SECRET: what they make up is never executed and never answered with
// anything, and without the login they do not get in at all.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createHmac, randomUUID } from "node:crypto";
import { connect, type NatsConnection } from "nats";
import { BusSeal } from "../../services/shared/bus/bus-seal.ts";
import { Caller, setBusKey } from "../../services/shared/caller.ts";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { eventually } from "../support/service.ts";

const prefix = "MOL-records";
const stranger = "stranger";

let cluster: Cluster;
let gateway: Gateway;
let bus: NatsConnection;
let seal: BusSeal;
let token = "";
let node = "";
/** The node's present start, as it names itself in what it says to all. */
let start = "";
const answers = new Map<string, Answer>();
const sealOf = (secret: string) => new BusSeal(secret, { foreign: 0, stale: 0, repeated: 0 });
/** Signed callers seen on the bus. */
const captured: string[] = [];

interface Answer {
  success: boolean;
  data: unknown;
  error?: { name: string; code: number; type: string; message: string; data?: unknown };
}

/** Of what is no packet, nothing: a callback that throws would end the client's reader. */
function parse(bytes: Uint8Array) {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) ?? {};
  } catch {
    return {};
  }
}

type Wrap = (subject: string, data: Buffer) => Buffer;
const plain: Wrap = (_subject, data) => data;

/** Sends a made-up request; its id is answered under `stranger`, if at all. */
function send(action: string, params: object, meta: object, wrap: Wrap): string {
  const id = randomUUID();
  const packet = {
    ver: "5",
    sender: stranger,
    for: start,
    id,
    action,
    params,
    meta,
    level: 1,
    tracing: false,
  };
  const data = Buffer.from(JSON.stringify({ ...packet, requestID: null, parentID: null }));
  const subject = `${prefix}.REQ.${node}`;
  bus.publish(subject, wrap(subject, data));
  return id;
}

async function answerTo(id: string): Promise<Answer> {
  const answer = await eventually(async () => answers.get(id));
  answers.delete(id);
  return answer;
}

describeWithNats("strangers on the bus", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.startServices({ NODE_ID: "services-1" });
    gateway = await cluster.startGateway();
    node = "services-1";
    bus = await connect({ servers: cluster.nats.address, ...cluster.nats.login });
    seal = sealOf(cluster.settings["BUS_SECRET"] ?? "");
    const hear = (subject: string, heard: (packet: any) => void) =>
      bus.subscribe(subject, {
        callback: (_error, { data }) => heard(parse(seal.open(subject, Buffer.from(data)) ?? data)),
      });
    hear(`${prefix}.RES.${stranger}`, (answer: Answer & { id: string }) => answers.set(answer.id, answer));
    hear(`${prefix}.HEARTBEAT`, (packet) => {
      if (packet.sender === node) start = packet.start;
    });
    hear(`${prefix}.REQ.${node}`, ({ sender, meta }) => {
      if (sender !== stranger && typeof meta?.caller === "string") captured.push(meta.caller);
    });
    await bus.flush();
    await eventually(async () => start !== "");
    token = await signInAt(gateway, "admin");
  });
  afterAll(async () => {
    await bus?.close();
    await cluster?.stop();
  });

  it("without the login, or with a wrong one, nobody connects", async () => {
    const options = { servers: cluster.nats.address, maxReconnectAttempts: 0 };
    await expect(connect(options)).rejects.toThrow(/authorization/i);
    const wrong = { ...options, user: cluster.nats.login.user, pass: "guess" };
    await expect(connect(wrong)).rejects.toThrow(/authorization/i);
  });

  it("of 200 made-up requests none is executed and none is answered", async () => {
    await gateway.call("GET", "/api/users/me", { token });
    await eventually(async () => captured.length > 0);
    const before = await state();
    const theirs = sealOf("a bus secret of the stranger's own, long enough");
    let sent = 0;
    for (const wrap of [plain, theirs.seal.bind(theirs), cut, misdirected, outdated]) {
      for (const meta of [...forgedMetas(captured.at(-1) ?? ""), { caller: captured.at(-1) }]) {
        for (const [action, params] of attackedActions().slice(0, 4)) {
          send(action, params, meta, wrap);
          sent++;
        }
      }
    }
    expect(sent).toBeGreaterThanOrEqual(200);
    // The last word on this connection: what was to be answered before it has been.
    await answerTo(send("users.me", {}, {}, (subject, data) => seal.seal(subject, data)));
    expect(answers.size).toBe(0);
    expect(await state()).toEqual(before);
  });

  it("a node of ours refuses by default: without a caller that proves something nothing runs, and answers tell nothing", async () => {
    const before = await state();
    let refused = 0;
    for (const meta of forgedMetas(captured.at(-1) ?? "")) {
      const attack = async ([action, params]: [string, object]) => {
        const answer = await answerTo(
          send(action, params, meta, (subject, data) => seal.seal(subject, data)),
        );
        expect({ action, meta, success: answer.success, data: answer.data }).toEqual({
          action,
          meta,
          success: false,
          data: null,
        });
        expect([401, 403, 404]).toContain(answer.error?.code);
        expect(["ServiceNotFoundError", "Forbidden", "Unauthorized"]).toContain(answer.error?.name);
        refused++;
      };
      await Promise.all(attackedActions().map(attack));
    }
    expect(refused).toBeGreaterThanOrEqual(100);
    expect(await state()).toEqual(before);
  });

  it("forged events change nothing either", async () => {
    const before = await state();
    for (const meta of forgedMetas(captured.at(-1) ?? "")) {
      for (const event of ["user.blocked", "tenant.updated", "$node.disconnected", "auth.revoked"]) {
        const packet = {
          ver: "5",
          sender: stranger,
          id: randomUUID(),
          event,
          data: { user_id: 1 },
          meta,
          level: 1,
        };
        const body = Buffer.from(
          JSON.stringify({ ...packet, broadcast: true, groups: null, tracing: false }),
        );
        bus.publish(`${prefix}.EVENT.${node}`, body);
      }
    }
    await bus.flush();
    expect((await gateway.call("GET", "/api/users/me", { token })).status).toBe(200);
    expect(await state()).toEqual(before);
  });

  it("packets that are none disturb nobody", async () => {
    const rubbish = [
      "",
      "{",
      "null",
      "[]",
      '{"ver":"5"}',
      "\0",
      `\0${"x".repeat(13)}\xff\xff`,
      "\0".repeat(600_000),
    ];
    for (const text of rubbish) {
      for (const command of ["REQ", "RES", "EVENT", "INFO", "DISCOVER", "HEARTBEAT", "PING"]) {
        bus.publish(`${prefix}.${command}.${node}`, Buffer.from(text, "latin1"));
        bus.publish(`${prefix}.${command}`, Buffer.from(text, "latin1"));
      }
    }
    await bus.flush();
    for (let tries = 0; tries < 20; tries++) {
      expect((await gateway.call("GET", "/api/users/me", { token })).status).toBe(200);
    }
  });

  it("answers that the stranger makes up, faster than the services, are not believed", async () => {
    const holder = {
      user_id: 1,
      tenant_id: 1,
      role: "superadmin",
      department_id: null,
      session_id: randomUUID(),
    };
    const watcher = bus.subscribe(`${prefix}.REQ.${node}`, {
      callback: (_error, message) => {
        const { id, sender } = parse(message.data);
        const data = { ...holder, can_see_all_patients: true };
        const answer = { ver: "5", sender: node, id, success: true, data, meta: { caller: holder } };
        bus.publish(`${prefix}.RES.${sender}`, Buffer.from(JSON.stringify(answer)));
      },
    });
    await bus.flush();
    for (let tries = 0; tries < 20; tries++) {
      expect((await gateway.call("GET", "/api/admin/tenants", { token: "a.b.c" })).status).toBe(401);
      expect((await gateway.call("GET", "/api/users/me", { token })).body).toMatchObject({ role: "admin" });
    }
    watcher.unsubscribe();
  });

  it("a stranger's node that offers our actions is asked nothing", async () => {
    let asked = 0;
    const name = "rogue";
    const watcher = bus.subscribe(`${prefix}.REQ.${name}`, { callback: () => void asked++ });
    const service = { name: "auth", version: null, settings: {}, metadata: {}, fullName: "auth", events: {} };
    const actions = { "auth.authenticate": { name: "auth.authenticate", rawName: "authenticate" } };
    const client = { type: "nodejs", version: "0.15.2", langVersion: "v24.0.0" };
    const info = {
      ipList: [],
      hostname: "x",
      client,
      config: {},
      instanceID: randomUUID(),
      metadata: {},
      seq: 2,
    };
    const services = [{ ...service, actions }];
    const packet = Buffer.from(JSON.stringify({ ver: "5", sender: name, ...info, services }));
    bus.publish(`${prefix}.INFO`, packet);
    await bus.flush();
    for (let tries = 0; tries < 20; tries++) {
      expect((await gateway.call("GET", "/api/users/me", { token })).status).toBe(200);
    }
    expect(asked).toBe(0);
    watcher.unsubscribe();
  });

  it("nothing that the stranger overhears holds a token, a password or a name", async () => {
    const heard: string[] = [];
    const watcher = bus.subscribe(">", {
      callback: (_error, message) => void heard.push(Buffer.from(message.data).toString("latin1")),
    });
    await bus.flush();
    const secret = "Overheard-4711";
    await gateway.call("POST", "/api/auth/login", {
      body: { email: "admin@demo.example", password: secret, subdomain: "demo" },
    });
    await gateway.call("GET", "/api/admin/users", { token });
    await eventually(async () => heard.length > 5);
    watcher.unsubscribe();
    for (const text of [secret, token, "admin@demo.example", "Nora Nurse", "caller"]) {
      expect(heard.filter((message) => message.includes(text))).toEqual([]);
    }
  });
});

/** All that a forged call could change. */
async function state(): Promise<unknown> {
  const { rows } = await cluster.database.owner.query(`select
    (select json_agg(u order by id) from users u)::text as users,
    (select json_agg(t order by id) from tenants t)::text as tenants,
    (select json_agg(d order by id) from departments d)::text as departments,
    (select count(*) from sessions where ended_at is null) as sessions`);
  return rows;
}

/** Rightly sealed once, then cut short, meant as an answer, or two minutes old. */
const cut: Wrap = (subject, data) => seal.seal(subject, data).subarray(0, -1);
const misdirected: Wrap = (_kind, data) => seal.seal("RES", data);
const outdated: Wrap = (kind, data) => {
  const message = seal.seal(kind, data);
  message.writeUIntBE(Date.now() - 120_000, 17, 6);
  return message;
};

function attackedActions(): [string, object][] {
  return [
    // Declared for everyone signed in, for administrators, for services only, and public ones without a caller.
    ["users.me", {}],
    ["users.list", {}],
    ["users.block", { user_id: 2 }],
    ["users.set_role", { user_id: 4, role: "admin" }],
    ["tenants.remove", { tenant_id: 2 }],
    ["tenants.list_public", {}],
    [
      "users.bootstrap",
      { tenant_id: 1, email: "x@y.example", password: "p", full_name: "x", role: "superadmin" },
    ],
    ["auth.authenticate", { token }],
    ["auth.authenticate_all", { tokens: [token, token] }],
    ["auth.clear_lockout", { tenant_id: 2, user_id: 2 }],
    ["auth.recognise", { subdomain: "demo", email: "admin@demo.example" }],
    ["auth.remember_origin", { tenant_id: 2, user_id: 2 }],
    ["accounts.renew_hash", { tenant_id: 2, user_id: 2, user_epoch: 0, new_hash: "y" }],
    ["audit.record_refusal", { action: "user.block", code: "x" }],
    // Of Moleculer, of the gateway, and of nobody.
    ["$node.list", {}],
    ["$node.options", {}],
    ["users.nothing", {}],
    ["__proto__", {}],
  ];
}

function forgedMetas(valid: string): object[] {
  const facts = {
    principal: {
      kind: "user",
      userId: 1,
      tenantId: 1,
      role: "superadmin",
      departmentId: null,
      sessionId: "x",
    },
    via: "start",
    requestId: "r",
    ip: null,
    userAgent: null,
  };
  const encoded = (payload: object) => Buffer.from(JSON.stringify(payload)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const fresh = encoded({ ...facts, iat: now });
  const [payload = "", mac = ""] = valid.split(".");
  const raised = { ...JSON.parse(Buffer.from(payload, "base64url").toString()), ...facts };
  setBusKey("a bus secret of the stranger's own, long enough");
  const foreign = new Caller({ ...facts, principal: { kind: "system" } }).toJSON();
  const flipped = `${payload}.${mac.startsWith("A") ? "B" : "A"}${mac.slice(1)}`;
  return [
    {},
    { caller: facts },
    { caller: { ...facts, toJSON: "x", "#facts": facts } },
    { caller: fresh },
    { caller: `${fresh}.` },
    { caller: `${fresh}.${mac}` },
    { caller: `${encoded(raised)}.${mac}` },
    { caller: flipped },
    { caller: `${payload}.${mac}.${mac}` },
    { caller: foreign },
    { caller: expired(facts, now) },
    { caller: `${fresh}.${createHmac("sha256", "").update(fresh).digest("base64url")}` },
    { $repl: true, caller: "" },
    { $repl: true },
  ];
}

/** Rightly signed, but 90 s ago. */
function expired(facts: object, now: number): string {
  setBusKey(cluster.settings["BUS_SECRET"] ?? "");
  const real = Date.now;
  Date.now = () => (now - 90) * 1_000;
  try {
    // The shape is the real one; only the role is not this person's.
    return new Caller(facts as ConstructorParameters<typeof Caller>[0]).toJSON();
  } finally {
    Date.now = real;
  }
}
