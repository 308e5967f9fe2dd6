// Tokens of requests that come in one turn of the event loop are asked about by one call, and each gets its own answer. Two
// nodes over Moleculer's in-memory transporter: a gateway's, and one that offers what `auth` does.
import { afterEach, describe, expect, it } from "@jest/globals";
import { type Context, ServiceBroker } from "moleculer";
import { tokenQuestionsOf } from "../../../../services/api-gateway/token-questions.ts";
import { Caller, setBusKey } from "../../../../services/shared/caller.ts";

const namespace = "token-questions";
const anonymous = new Caller({
  principal: { kind: "anonymous" },
  via: "api-gateway",
  requestId: "request-id",
  ip: null,
  userAgent: null,
});
// Callers are signed when they leave a node.
setBusKey("a bus secret of this test alone, long enough");
const brokers: ServiceBroker[] = [];
let alone: string[] = [];
let together: string[][] = [];
const holderOf = (token: string) => ({ session_id: `session of ${token}` });

function broker(nodeID: string): ServiceBroker {
  const made = new ServiceBroker({ nodeID, namespace, transporter: "Fake", logger: false });
  brokers.push(made);
  return made;
}

const single = async ({ params: { token } }: Context<{ token: string }>) => {
  alone.push(token);
  if (token === "nobody") throw Object.assign(new Error("nobody"), { code: 401 });
  return holderOf(token);
};
const several = async ({ params: { tokens } }: Context<{ tokens: string[] }>) => {
  together.push(tokens);
  if (tokens.includes("fault")) throw Object.assign(new Error("no database"), { code: 503 });
  return tokens.map((token) => {
    if (token === "nobody") return { holder: null, unsure: false };
    if (token === "foreign") return { holder: null, unsure: true };
    return { holder: holderOf(token), unsure: false };
  });
};

/** @returns asks about all of the tokens in one turn, as requests that came together do */
async function start(
  actions: object,
  isLocal = false,
): Promise<(tokens: readonly string[]) => Promise<unknown[]>> {
  alone = [];
  together = [];
  const gateway = broker("gateway");
  const service = { name: "auth", actions: { ...actions } };
  const nodes = [gateway];
  if (isLocal) gateway.createService(service);
  else {
    const other = broker("services");
    other.createService(service);
    nodes.push(other);
  }
  let contexts: Context[] = [];
  gateway.createService({
    name: "front",
    actions: { begin: (ctx: Context) => void contexts.push(ctx) },
  });
  await Promise.all(nodes.map((node) => node.start()));
  await gateway.waitForServices("auth", 5_000);
  return async (tokens) => {
    contexts = [];
    for (const _ of tokens) await gateway.call("front.begin");
    const asked = contexts.map((ctx, at) => tokenQuestionsOf(gateway).ask(ctx, tokens[at] ?? "", anonymous));
    const settled = await Promise.allSettled(asked);
    return settled.map((each) => (each.status === "fulfilled" ? each.value : each.reason));
  };
}

const both = { authenticate: single, authenticate_all: several };

afterEach(async () => {
  await Promise.all(brokers.splice(0).map((each) => each.stop()));
});

describe("tokens that are asked about in one turn", () => {
  it("are one call, and each request gets its own answer", async () => {
    const ask = await start(both);
    const answers = await ask(["a", "nobody", "b", "a"]);
    expect(together).toEqual([["a", "nobody", "b", "a"]]);
    expect(alone).toEqual([]);
    expect(answers).toEqual([
      holderOf("a"),
      expect.objectContaining({ code: 401, type: "invalid_token" }),
      holderOf("b"),
      holderOf("a"),
    ]);
  });

  it("are asked about alone where another process may have the key", async () => {
    const ask = await start(both);
    expect(await ask(["a", "foreign"])).toEqual([holderOf("a"), holderOf("foreign")]);
    expect(alone).toEqual(["foreign"]);
  });

  it("all fail when the call does", async () => {
    const ask = await start(both);
    const fault = expect.objectContaining({ code: 503 });
    expect(await ask(["a", "fault"])).toEqual([fault, fault]);
  });

  it("are at most 32 of one call", async () => {
    const ask = await start(both);
    const tokens = Array.from({ length: 70 }, (_, at) => `token-${at}`);
    expect(await ask(tokens)).toEqual(tokens.map(holderOf));
    expect(together.map(({ length }) => length)).toEqual([32, 32, 6]);
  });
});

describe("a token is asked about alone", () => {
  it("when no other comes with it", async () => {
    const ask = await start(both);
    expect(await ask(["a"])).toEqual([holderOf("a")]);
    expect(await ask(["nobody"])).toEqual([expect.objectContaining({ code: 401 })]);
    expect({ alone, together }).toEqual({ alone: ["a", "nobody"], together: [] });
  });

  it("of nodes whose version answers one at a time", async () => {
    const ask = await start({ authenticate: single });
    expect(await ask(["a", "b"])).toEqual([holderOf("a"), holderOf("b")]);
    expect(alone).toEqual(["a", "b"]);
  });

  it("in a process that holds auth itself", async () => {
    const ask = await start(both, true);
    expect(await ask(["a", "b"])).toEqual([holderOf("a"), holderOf("b")]);
    expect({ alone, together }).toEqual({ alone: ["a", "b"], together: [] });
  });
});
