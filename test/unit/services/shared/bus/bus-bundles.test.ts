// Several packets in one message: what is published in one turn of the event loop travels together, in its order, bounded in
// number and bytes, and only to nodes that say that they take it. That a bundle opens once and nowhere else is the seal's
// promise for any message; here both are put together.
import { describe, expect, it } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { type Context, ServiceBroker } from "moleculer";
import {
  bundleBytesMax,
  bundleOf,
  busBundles,
  type Facts,
  packetsMax,
  packetsOf,
  Turn,
} from "../../../../../services/shared/bus/bus-bundles.ts";
import { BusSeal } from "../../../../../services/shared/bus/bus-seal.ts";

const secret = "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R";
const request = (target: string | null): Facts => ({ packet: { type: "REQ", target } });
const answer = (target: string): Facts => ({ packet: { type: "RES", target } });
const text = (word: string) => Buffer.from(JSON.stringify({ word }));

/** What a turn hands on, as `subject: packets`. */
class Wire {
  readonly sent: string[] = [];
  connected = true;
  fault: Error | undefined;
  readonly turn: Turn;

  constructor(takers: readonly string[] = ["new"]) {
    this.turn = new Turn(
      (subject, data) => this.#send(subject, data),
      (node) => takers.includes(node),
      () => this.connected,
    );
  }

  #send(subject: string, data: Buffer): Promise<void> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const packets = data[0] === 1 ? packetsOf(data) : [data];
    const words = packets.map((packet) => (JSON.parse(packet.toString()) as { word: string }).word);
    this.sent.push(`${subject}: ${words.join(" ")}`);
    return Promise.resolve();
  }
}

describe("a bundle", () => {
  it("holds its packets as they were, also empty and binary ones", () => {
    const packets = [text("a"), Buffer.alloc(0), randomBytes(10_000), text("b")];
    expect(packetsOf(bundleOf(packets))).toEqual(packets);
  });

  it.each([
    ["a length cut short", Buffer.from([1, 0, 0, 0])],
    ["a packet cut short", bundleOf([text("a"), text("b")]).subarray(0, -1)],
    ["more behind its last packet", Buffer.concat([bundleOf([text("a")]), Buffer.from([0])])],
    ["a length beyond its end", Buffer.from([1, 255, 255, 255, 255, 7])],
    ["too many packets", bundleOf(Array.from({ length: packetsMax + 1 }, () => text("a")))],
    ["no packet", Buffer.from([1])],
  ])("with %s is none, not even in part", (_name, bundle) => {
    expect(packetsOf(bundle)).toEqual([]);
  });

  it("opens once, as a whole, and on no other subject", () => {
    const dropped = { foreign: 0, stale: 0, repeated: 0 };
    const [sender, receiver] = [new BusSeal(secret, dropped), new BusSeal(secret, dropped)];
    const sealed = sender.seal("MOL-records.REQ.services-1", bundleOf([text("a"), text("b")]));
    expect(receiver.open("MOL-records.REQ.services-2", sealed)).toBeUndefined();
    const opened = receiver.open("MOL-records.REQ.services-1", sealed);
    expect(packetsOf(opened ?? Buffer.alloc(0))).toEqual([text("a"), text("b")]);
    expect(receiver.open("MOL-records.REQ.services-1", sealed)).toBeUndefined();
    expect(dropped).toEqual({ foreign: 1, stale: 0, repeated: 1 });
  });
});

describe("a turn of the event loop", () => {
  it("sends what it was given for one subject as one message, at its end", async () => {
    const { turn, sent } = new Wire();
    const all = ["a", "b", "c"].map((word) => turn.send("REQ.new", text(word), request("new")));
    all.push(turn.send("RES.new", text("d"), answer("new")));
    expect(sent).toEqual([]);
    await Promise.all(all);
    expect(sent).toEqual(["REQ.new: a b c", "RES.new: d"]);
  });

  it("sends a lone request as it is, and begins again after its end", async () => {
    const { turn, sent } = new Wire();
    await turn.send("REQ.new", text("a"), request("new"));
    await turn.send("REQ.new", text("b"), request("new"));
    expect(sent).toEqual(["REQ.new: a", "REQ.new: b"]);
  });

  it("sends one packet a message to a node that does not take more", async () => {
    const { turn, sent } = new Wire(["new"]);
    const words = ["a", "b"];
    await Promise.all(words.map((word) => turn.send("REQ.old", text(word), request("old"))));
    expect(sent).toEqual(["REQ.old: a", "REQ.old: b"]);
  });

  it("sends anything else at once, after all that was published before it", async () => {
    const { turn, sent } = new Wire();
    const first = turn.send("REQ.new", text("a"), request("new"));
    const leaving = turn.send("DISCONNECT", text("leaves"), { packet: { type: "DISCONNECT" } });
    expect(sent).toEqual(["REQ.new: a", "DISCONNECT: leaves"]);
    await Promise.all([first, leaving, turn.send("REQ.new", text("b"), request("new"))]);
    expect(sent).toEqual(["REQ.new: a", "DISCONNECT: leaves", "REQ.new: b"]);
  });

  it("keeps the order of one subject when a packet is too long for a bundle", async () => {
    const { turn, sent } = new Wire();
    const long = text("long".padEnd(bundleBytesMax, "-"));
    const packets = [text("a"), long, text("b")];
    await Promise.all(packets.map((packet) => turn.send("RES.new", packet, answer("new"))));
    expect(sent.map((line) => line.slice(0, 14))).toEqual(["RES.new: a", "RES.new: long-", "RES.new: b"]);
  });

  it("bounds a message in number and in bytes, and keeps the order", async () => {
    const { turn, sent } = new Wire();
    const words = Array.from({ length: 2 * packetsMax + 1 }, (_, at) => String(at));
    await Promise.all(words.map((word) => turn.send("REQ.new", text(word), request("new"))));
    expect(sent.map((line) => line.split(" ").length - 1)).toEqual([packetsMax, packetsMax, 1]);
    expect(sent.flatMap((line) => line.split(" ").slice(1))).toEqual(words);
    sent.length = 0;
    const half = text("half".padEnd(bundleBytesMax / 2, "-"));
    await Promise.all([half, half, half].map((packet) => turn.send("RES.new", packet, answer("new"))));
    expect(sent).toHaveLength(3);
  });

  it("hands on nothing once the bus is away: the client would send it, stale, when it is back", async () => {
    const wire = new Wire();
    const sending = wire.turn.send("REQ.new", text("a"), request("new"));
    wire.connected = false;
    await expect(sending).rejects.toThrow();
    wire.connected = true;
    await wire.turn.send("REQ.new", text("b"), request("new"));
    expect(wire.sent).toEqual(["REQ.new: b"]);
  });

  it("tells all whose packets could not be handed on, and goes on", async () => {
    const wire = new Wire();
    wire.fault = new Error("the connection is closed");
    const sending = ["a", "b"].map((word) => wire.turn.send("REQ.new", text(word), request("new")));
    // It has them handed on before the end of the turn.
    sending.push(wire.turn.send("PING", text("?"), { packet: { type: "PING", target: "new" } }));
    for (const each of sending) await expect(each).rejects.toThrow("the connection is closed");
    wire.fault = undefined;
    await wire.turn.send("REQ.new", text("c"), request("new"));
    expect(wire.sent).toEqual(["REQ.new: c"]);
  });
});

it("a lone request is on its way before the next turn begins", async () => {
  const { turn, sent } = new Wire();
  void turn.send("REQ.new", text("a"), request("new"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(sent).toEqual(["REQ.new: a"]);
});

it("nodes of two versions side by side answer each other, and the older one is sent no bundle", async () => {
  const namespace = "bundles";
  const node = (nodeID: string, isOld = false) => {
    const middlewares = isOld ? [] : [busBundles()];
    const broker = new ServiceBroker({ nodeID, namespace, middlewares, transporter: "Fake", logger: false });
    const echo = ({ params }: Context<{ number: number }>) => `${nodeID} ${params.number}`;
    broker.createService({ name: nodeID, actions: { echo } });
    return broker;
  };
  const nodes = [node("new-1"), node("new-2"), node("old", true)];
  // Moleculer's in-memory transporter keeps its exchange here once a node has started.
  const bundled = new Set<string>();
  try {
    for (const each of nodes) await each.start();
    const { bus } = globalThis as unknown as {
      bus: { on(topic: string, heard: (data: Buffer) => void): void };
    };
    for (const { nodeID } of nodes)
      for (const type of ["REQ", "RES"])
        bus.on(`MOL-${namespace}.${type}.${nodeID}`, (data) => {
          if (data[0] !== "{".charCodeAt(0)) bundled.add(`${type} ${nodeID}`);
        });
    for (const each of nodes) await each.waitForServices(["new-1", "new-2", "old"], 5_000);
    const calls = nodes.flatMap((from) =>
      nodes.flatMap((to) =>
        Array.from({ length: 10 }, async (_, number) => ({
          answer: await from.call(`${to.nodeID}.echo`, { number }),
          expected: `${to.nodeID} ${number}`,
        })),
      ),
    );
    for (const { answer, expected } of await Promise.all(calls)) expect(answer).toBe(expected);
  } finally {
    for (const each of nodes) await each.stop();
  }
  expect([...bundled].sort()).toEqual(["REQ new-1", "REQ new-2", "RES new-1", "RES new-2"]);
});
