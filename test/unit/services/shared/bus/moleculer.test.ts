// What whoever reaches the bus can do: send any packet, call any action, answer with any meta. Two nodes of ours and an
// attacker's plain node over Moleculer's in-memory transporter, which serialises every packet as a real one does.
// Packets are sealed too; that wall is taken off here, so that the one behind it is seen to stand alone.
import { createHash, createHmac, hkdfSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Context, ServiceBroker, type ServiceSchema } from "moleculer";
import { assemble } from "../../../../../moleculer.config.ts";
import { allow, anyone, onlyServices, signedIn } from "../../../../../services/shared/access.ts";
import { type Contract, implement } from "../../../../../services/shared/bus/bus.ts";
import { Caller, type Principal, setBusKey } from "../../../../../services/shared/caller.ts";
import { readConfig } from "../../../../../host/settings/config.ts";
import { nullable, optional } from "../../../../../services/shared/params/modifiers.ts";
import { id } from "../../../../../services/shared/params/rules.ts";
import type { RecordsAction } from "../../../../../services/shared/bus/schemas.ts";
import { eventually, testSettings } from "../../../../support/service.ts";

const namespace = "traps";
const { JWT_SECRET = "", BOOT_SECRET = "", BUS_SECRET = "" } = testSettings({ url: "", folder: "/nowhere" });
// The tables below are made before a node starts and sets it.
setBusKey(BUS_SECRET);
const nurse: Principal = {
  kind: "user",
  userId: 7,
  tenantId: 3,
  role: "nurse",
  departmentId: null,
  canSeeAllPatients: false,
  sessionId: "00000000-0000-4000-8000-000000000000",
  readAt: 0,
};
const facts = { via: "api-gateway", requestId: "request-id", ip: null, userAgent: null };
/** As a gateway that has just read the session makes one. */
const callerOf = (principal: Principal, via = facts.via) =>
  new Caller({
    ...facts,
    via,
    principal: principal.kind === "user" ? { ...principal, readAt: Date.now() } : principal,
  });

let reached: string[] = [];
let heard: unknown[] = [];
const note = (name: string) => async () => {
  reached.push(name);
};

const probeContract = {
  "probe.open": { summary: "-", audits: "probe.open", access: anyone },
  "probe.person": { summary: "-", audits: "probe.person", access: signedIn },
  "probe.admin": { summary: "-", audits: "probe.admin", access: allow("superadmin", "admin") },
  "probe.inner": { summary: "-", audits: "probe.inner", access: onlyServices("mail") },
  "probe.tenant": {
    summary: "-",
    audits: "probe.tenant",
    access: signedIn,
    query: { tenant_id: optional(nullable(id())) },
  },
} as const satisfies Contract;

const probe: ServiceSchema = {
  name: "probe",
  actions: {
    ...implement(probeContract, {
      "probe.open": note("open"),
      "probe.person": note("person"),
      "probe.admin": note("admin"),
      "probe.inner": note("inner"),
      "probe.tenant": note("tenant"),
    }),
    unstated: note("unstated"),
    hidden: { visibility: "protected", access: anyone, handler: note("hidden") } as unknown as RecordsAction,
    own: { visibility: "private", handler: note("own") },
    whoami: {
      access: anyone,
      // What the middleware verified, not what travelled.
      handler: async (ctx: Context) => (ctx.locals as { caller: Caller }).caller.principal,
    } as unknown as RecordsAction,
  },
  events: { "probe.told": { handler: (ctx: Context) => void heard.push(ctx.params) } },
};

/** What `auth` would say of the session; undefined: it has ended. */
let holder: object | undefined;
let questions: string[][] = [];
const auth: ServiceSchema = {
  name: "auth",
  actions: {
    live_sessions: {
      access: onlyServices("bus"),
      handler: async (ctx: Context<{ session_ids: string[] }>) => {
        questions.push(ctx.params.session_ids);
        return holder === undefined ? [] : [holder];
      },
    } as unknown as RecordsAction,
  },
};

/** A callee gone bad: it rewrites everything of its caller's meta that it can. */
const rogue: ServiceSchema = {
  name: "rogue",
  actions: {
    rewrite: {
      access: anyone,
      handler: async (ctx: Context<unknown, Record<string, unknown>>) => {
        const signed = callerOf({ kind: "system" }, "start").toJSON();
        Object.assign(ctx.meta, { caller: signed, user: { role: "superadmin" }, $repl: true, tenantId: 1 });
        return signed;
      },
    } as unknown as RecordsAction,
  },
};

const outer: ServiceSchema = {
  name: "outer",
  actions: implement(
    { "outer.run": { summary: "-", audits: "outer.run", access: anyone } } as const satisfies Contract,
    {
      "outer.run": async (call) => {
        // Names of this test only, which the bus's types do not know.
        const bus = call.bus.bind(call) as unknown as (name: string, input: object) => Promise<unknown>;
        const before = await bus("probe.whoami", {});
        await bus("rogue.rewrite", {});
        seen = [before, await bus("probe.whoami", {}), call.caller.principal];
        await bus("probe.admin", {});
      },
    },
  ),
};
let seen: unknown[] = [];

function node(nodeId: string, services: ServiceSchema[], walls = ["records"]): ServiceBroker {
  const secrets = { JWT_SECRET, BOOT_SECRET, BUS_SECRET };
  const env = { ...secrets, NODE_ID: nodeId, NAMESPACE: namespace, LOG_LEVEL: "silent" };
  const { options } = assemble(readConfig(env), () => {});
  const middlewares = (options.middlewares ?? []).filter(
    (each) => typeof each === "object" && walls.includes(String(each.name)),
  );
  expect(middlewares).toHaveLength(walls.length);
  const broker = new ServiceBroker({ ...options, middlewares, transporter: "Fake", logger: false });
  for (const service of services) broker.createService(service);
  return broker;
}

let front: ServiceBroker;
let back: ServiceBroker;
let attacker: ServiceBroker;
beforeAll(async () => {
  front = node("front", [outer, auth]);
  back = node("back", [probe, rogue]);
  attacker = new ServiceBroker({ nodeID: "attacker", namespace, transporter: "Fake", logger: false });
  await Promise.all([front.start(), back.start(), attacker.start()]);
  await front.waitForServices(["probe", "rogue"], 5_000);
  await attacker.waitForServices(["probe", "outer"], 5_000);
});
afterAll(async () => {
  await Promise.all([attacker.stop(), front.stop(), back.stop()]);
});

const busKey = (secret: string) => Buffer.from(hkdfSync("sha256", secret, "", "records bus caller v1", 32));
function sign(payload: object, secret = BUS_SECRET): string {
  const text = Buffer.from(JSON.stringify(payload)).toString("base64url");
  return `${text}.${createHmac("sha256", busKey(secret)).update(text).digest("base64url")}`;
}
const nowSeconds = () => Math.floor(Date.now() / 1000);
const system = { ...facts, principal: { kind: "system" }, via: "mail" };

/** Everything an attacker without the key can put in the place of a caller. */
function forgeries(): [string, unknown][] {
  const captured = callerOf(nurse).toJSON();
  const [payload = "", mac = ""] = captured.split(".");
  const raised = Buffer.from(
    Buffer.from(payload, "base64url").toString().replace('"nurse"', '"superadmin"'),
  ).toString("base64url");
  const flipped = `${mac.slice(0, -2)}${mac.at(-2) === "A" ? "B" : "A"}${mac.at(-1)}`;
  return [
    ["nothing", undefined],
    ["null", null],
    ["an object that says system", system],
    ["an object with a getter's look", { principal: { kind: "system" }, facts: system }],
    ["an empty text", ""],
    ["a text", "system"],
    ["two dots", ".."],
    ["a payload alone", payload],
    ["a payload with an empty signature", `${payload}.`],
    ["a captured one raised to superadmin", `${raised}.${mac}`],
    ["a captured one with a flipped signature", `${payload}.${flipped}`],
    ["a captured one with something after it", `${captured}.x`],
    [
      "one signed with another key",
      sign({ ...system, iat: nowSeconds() }, "another secret of another deployment"),
    ],
    ["one signed with the key for tokens", sign({ ...system, iat: nowSeconds() }, JWT_SECRET)],
    ["one signed without a key", sign({ ...system, iat: nowSeconds() }, "")],
    ["one signed two minutes ago", sign({ ...system, iat: nowSeconds() - 120 })],
    ["one signed for later", sign({ ...system, iat: nowSeconds() + 120 })],
    ["one signed at no time", sign(system)],
    ["a list", [captured]],
    ["a number", 1],
    ["__proto__", JSON.parse('{"__proto__": {"principal": {"kind": "system"}}}')],
  ];
}

describe("a forged caller", () => {
  const actions = ["probe.open", "probe.person", "probe.admin", "probe.inner"];
  it.each(forgeries())("%s executes nothing", async (_what, caller) => {
    reached = [];
    for (const action of actions) {
      const meta = { caller, user: { role: "superadmin" }, $repl: true };
      await expect(attacker.call(action, {}, { meta })).rejects.toMatchObject({ code: 403 });
      await expect(front.call(action, {}, { meta: { caller } })).rejects.toMatchObject({ code: 403 });
    }
    expect(reached).toEqual([]);
  });

  it("is refused in raw packets as well: 100 of 100", async () => {
    reached = [];
    const answers: { success: boolean; error?: { code: number } }[] = [];
    // Moleculer's in-memory transporter keeps its exchange here.
    const { bus } = globalThis as unknown as {
      bus: {
        emit(topic: string, data: Buffer): void;
        on(topic: string, heard: (data: Buffer) => void): void;
      };
    };
    bus.on(`MOL-${namespace}.RES.ghost`, (data) => answers.push(JSON.parse(data.toString())));
    const all = forgeries();
    for (let i = 0; i < 100; i++) {
      const [, caller] = all[i % all.length] ?? [];
      // Only such a packet reaches a protected action: no registry tells of it, and no node refuses it for that.
      const action = [...actions, "probe.hidden", "probe.own"][i % 6];
      const packet = {
        ver: "5",
        sender: "ghost",
        id: `packet-${i}`,
        action,
        params: {},
        meta: { caller },
        level: 1,
      };
      bus.emit(`MOL-${namespace}.REQ.back`, Buffer.from(JSON.stringify({ ...packet, stream: false })));
    }
    await eventually(async () => answers.length === 100);
    expect(answers.filter(({ success, error }) => success || ![403, 404].includes(error?.code ?? 0))).toEqual(
      [],
    );
    expect(reached).toEqual([]);
  });

  it("is not heard in events either", async () => {
    heard = [];
    for (const [, caller] of forgeries())
      await attacker.emit("probe.told", { forged: true }, { meta: { caller } });
    await front.emit("probe.told", { forged: false }, { meta: { caller: callerOf({ kind: "system" }) } });
    await eventually(async () => heard.length > 0);
    expect(heard).toEqual([{ forged: false }]);
  });
});

describe("a right caller", () => {
  it.each([
    ["probe.open", nurse, [200]],
    ["probe.person", nurse, [200]],
    ["probe.admin", nurse, 403],
    ["probe.inner", nurse, 403],
    ["probe.person", { kind: "anonymous" }, 401],
    ["probe.admin", { kind: "anonymous" }, 401],
    ["probe.admin", { ...nurse, role: "admin" }, [200]],
    ["probe.inner", { kind: "system" }, 403],
  ] as const)(
    "gets from %s, from another node, what its access says (%#)",
    async (action, principal, answer) => {
      const call = front.call(action, {}, { meta: { caller: callerOf(principal) } });
      if (typeof answer === "number") await expect(call).rejects.toMatchObject({ code: answer });
      else await expect(call).resolves.toBeUndefined();
    },
  );

  it("reaches an inner action only through the service that may call it", async () => {
    const meta = { caller: callerOf(nurse, "mail") };
    await expect(front.call("probe.inner", {}, { meta })).resolves.toBeUndefined();
  });

  it("is refused another tenant on the node itself, however it is written, and also where the action would not ask", async () => {
    reached = [];
    const name = (tenantId: unknown, principal: Principal = nurse) =>
      front.call("probe.tenant", { tenant_id: tenantId }, { meta: { caller: callerOf(principal) } });
    for (const foreign of [4, "4", "+4", "0_4", "4.0"])
      await expect(name(foreign)).rejects.toMatchObject({ code: 403, type: "foreign_tenant" });
    expect(reached).toEqual([]);
    for (const own of [3, "3", null, undefined]) await name(own);
    await name(4, { ...nurse, role: "superadmin" });
    expect(reached).toHaveLength(5);
  });

  it.each([{ kind: "system" }, { kind: "operator", name: "root" }] as const)(
    "%j too is refused an action that states no access",
    async (principal) => {
      reached = [];
      const meta = { caller: callerOf(principal, "start") };
      await expect(front.call("probe.unstated", {}, { meta })).rejects.toMatchObject({ code: 403 });
      await expect(back.call("probe.unstated", {}, { meta })).rejects.toMatchObject({ code: 403 });
      expect(reached).toEqual([]);
    },
  );

  it("finds no private action on the bus", async () => {
    const meta = { caller: callerOf({ kind: "system" }) };
    await expect(front.call("probe.own", {}, { meta })).rejects.toMatchObject({ type: "SERVICE_NOT_FOUND" });
  });

  it("stays who it is when a callee rewrites its meta", async () => {
    reached = [];
    const run = front.call("outer.run", {}, { meta: { caller: callerOf(nurse) } });
    await expect(run).rejects.toMatchObject({ code: 403 });
    const same = { ...nurse, readAt: expect.any(Number) };
    expect(seen).toEqual([same, same, same]);
    expect(reached).toEqual([]);
  });
});

describe("an answer", () => {
  let bare: ServiceBroker;
  beforeAll(async () => {
    bare = node("bare", [{ ...rogue, name: "plain" }], ["records", "bare-answers"]);
    await bare.start();
    await Promise.all([bare.waitForServices("rogue", 5_000), front.waitForServices("plain", 5_000)]);
  });
  afterAll(() => bare.stop());

  /** What the caller's context has for meta when the answer is there. */
  async function metaAfter(broker: ServiceBroker, action: string): Promise<object> {
    const run = broker.call(action, {}, { meta: { caller: callerOf(nurse) } });
    await run;
    // Moleculer hangs the context on the promise, and does not declare it.
    return (run as unknown as { ctx: { meta: object } }).ctx.meta;
  }

  it("changes nothing of its caller's meta, whatever the callee sends", async () => {
    expect(await metaAfter(front, "rogue.rewrite")).toHaveProperty("user");
    expect(await metaAfter(bare, "rogue.rewrite")).toEqual({ caller: expect.any(Caller) });
  });

  it("takes no meta along: not the caller, and not what the callee has put there", async () => {
    expect(await metaAfter(front, "plain.rewrite")).toEqual({ caller: expect.any(Caller) });
  });
});

describe("a caller whose session was read a while ago", () => {
  const living = {
    session_id: nurse.sessionId,
    user_id: 7,
    tenant_id: 3,
    role: "nurse",
    department_id: null,
    can_see_all_patients: false,
  };
  const long = (ms: number) =>
    new Caller({ ...facts, principal: { ...nurse, role: "admin", readAt: Date.now() - ms } });
  const call = (action: string, caller: Caller) => front.call(action, {}, { meta: { caller } });

  it("is asked after where the call runs, once for all calls of a turn, and stands there as now", async () => {
    [reached, questions, holder] = [[], [], living];
    const calls = Array.from({ length: 20 }, () => call("probe.person", long(60_000)));
    await Promise.all(calls);
    expect(reached).toHaveLength(20);
    expect(questions).toEqual([[nurse.sessionId]]);
    // The role that was told is not the one of now.
    await expect(call("probe.admin", long(2_000))).rejects.toMatchObject({ code: 403 });
    holder = { ...living, role: "admin" };
    await expect(call("probe.admin", long(2_000))).resolves.toBeUndefined();
  });

  it("is nobody when the session has ended, and by no clock that is wrong", async () => {
    [reached, holder] = [[], undefined];
    for (const ms of [1_100, 60_000, -1_100])
      await expect(call("probe.person", long(ms))).rejects.toMatchObject({
        code: 401,
        type: "invalid_token",
      });
    expect(reached).toEqual([]);
  });

  it("is not asked after when it was read just now, nor where anybody may call", async () => {
    [reached, questions, holder] = [[], [], undefined];
    await call("probe.person", long(0));
    await call("probe.open", long(60_000));
    expect({ reached, questions }).toEqual({ reached: ["person", "open"], questions: [] });
  });
});

it("a node whose packets are sealed is not even seen by one that has no key", async () => {
  const sealed = node("sealed", [{ ...probe, name: "sealed" }], ["records", "bus-seal"]);
  await sealed.start();
  try {
    reached = [];
    for (const [, caller] of forgeries()) {
      const call = attacker.call("sealed.hidden", {}, { meta: { caller }, nodeID: "sealed" });
      await expect(call).rejects.toMatchObject({ type: "SERVICE_NOT_FOUND" });
    }
    expect(reached).toEqual([]);
  } finally {
    await sealed.stop();
  }
});

it("no node tells about itself to whoever asks", async () => {
  for (const action of [
    "$node.list",
    "$node.services",
    "$node.actions",
    "$node.options",
    "$node.metrics",
    "$node.health",
  ]) {
    for (const nodeID of ["front", "back"]) {
      await expect(attacker.call(action, {}, { nodeID })).rejects.toMatchObject({
        type: "SERVICE_NOT_FOUND",
      });
    }
  }
});

it("a signature holds for the deployment's secret alone", () => {
  expect(createHash("sha256").update(busKey(BUS_SECRET)).digest("hex")).not.toBe(
    createHash("sha256").update(busKey(JWT_SECRET)).digest("hex"),
  );
  expect(Caller.read(sign({ ...system, iat: nowSeconds() }))?.principal).toEqual({ kind: "system" });
});
