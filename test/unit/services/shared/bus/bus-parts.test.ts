// Long messages in parts: put together in order, bounded in number, bytes and time while they are incomplete. Over a bus
// where strangers repeat and mix in what they like, that nothing gets through to here is bus-seal.test.ts's; here both are
// put together.
import { describe, expect, it } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { Gathering, incompleteBytesMax, partsOf } from "../../../../../services/shared/bus/bus-parts.ts";
import { BusSeal } from "../../../../../services/shared/bus/bus-seal.ts";

const megabyte = 1_024 * 1_024;
const secret = "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R";
const subject = "MOL-records.RES.gateway-1";
const wholes = (gathering: Gathering, parts: readonly Buffer[]) =>
  parts.flatMap((part) => gathering.add(part) ?? []);

describe("parts", () => {
  it("make the message, also when those of several come mixed", () => {
    const messages = [randomBytes(3 * megabyte), randomBytes(2 * megabyte), randomBytes(megabyte + 1)];
    const queues = messages.map(partsOf);
    const mixed = Array.from({ length: 6 }, (_, at) => queues.flatMap((queue) => queue[at] ?? [])).flat();
    const gathering = new Gathering();
    const made = wholes(gathering, mixed);
    expect(made).toHaveLength(3);
    for (const message of messages) expect(made.some((each) => each.equals(message))).toBe(true);
    expect(gathering.bytes).toBe(0);
  });

  it.each([
    ["one is missing", (parts: Buffer[]) => parts.filter((_, at) => at !== 1)],
    ["one comes twice", (parts: Buffer[]) => parts.toSpliced(1, 0, parts[1] ?? Buffer.alloc(0))],
    ["they come in another order", (parts: Buffer[]) => parts.toReversed()],
  ])("are given up when %s, and nothing of them is kept", (_name, spoil) => {
    const gathering = new Gathering();
    expect(wholes(gathering, spoil(partsOf(randomBytes(2 * megabyte))))).toEqual([]);
    // What follows may be the beginning of nothing, but never an end.
    expect(gathering.bytes).toBeLessThan(2 * megabyte);
  });

  it("whose rest never comes are bounded in bytes, oldest given up first", () => {
    const gathering = new Gathering();
    let most = 0;
    const last = partsOf(randomBytes(16 * megabyte));
    for (let begun = 0; begun < 200; begun++) {
      for (const part of partsOf(randomBytes(megabyte)).slice(0, 1)) gathering.add(part);
      most = Math.max(most, gathering.bytes);
    }
    expect(most).toBeLessThanOrEqual(incompleteBytesMax);
    expect(wholes(gathering, last)).toHaveLength(1);
  });

  it("whose rest does not come in half a minute are forgotten", () => {
    const gathering = new Gathering();
    const [first, second] = partsOf(randomBytes(megabyte));
    const [other] = partsOf(randomBytes(megabyte));
    gathering.add(first ?? Buffer.alloc(0), 0);
    gathering.add(other ?? Buffer.alloc(0), 30_001);
    expect(gathering.bytes).toBe(megabyte / 2);
    expect(gathering.add(second ?? Buffer.alloc(0), 30_002)).toBeUndefined();
  });

  it.each([
    ["no chunk", Buffer.alloc(15)],
    ["an index beyond its count", Buffer.from([0, ...Buffer.alloc(12), 2, 2, 1])],
    ["no count", Buffer.from([0, ...Buffer.alloc(12), 0, 0, 1])],
    ["too many", Buffer.from([0, ...Buffer.alloc(12), 0, 33, 1])],
    ["a head cut short", Buffer.from([0, 1, 2])],
  ])("with %s are none", (_name, part) => {
    const gathering = new Gathering();
    expect(gathering.add(part)).toBeUndefined();
    expect(gathering.bytes).toBe(0);
  });
});

it("a stranger who repeats, mixes, cuts and makes up parts neither spoils a message nor fills the memory", () => {
  const dropped = { foreign: 0, stale: 0, repeated: 0 };
  const sender = new BusSeal(secret, dropped);
  const receiver = new BusSeal(secret, dropped);
  const gathering = new Gathering();
  const message = randomBytes(4 * megabyte);
  const sealed = partsOf(message).map((part) => sender.seal(subject, part));
  const made: Buffer[] = [];
  const receive = (bytes: Buffer) => {
    const part = receiver.open(subject, bytes);
    const whole = part === undefined ? undefined : gathering.add(part);
    if (whole !== undefined) made.push(whole);
  };
  for (const [at, part] of sealed.entries()) {
    receive(part);
    const held = gathering.bytes;
    for (const earlier of sealed.slice(0, at + 1)) receive(earlier);
    receive(Buffer.concat([(sealed[at + 1] ?? part).subarray(0, 29), randomBytes(512 * 1_024)]));
    receive(
      Buffer.concat([Buffer.from([0]), randomBytes(12), Buffer.from([0, 32]), randomBytes(512 * 1_024)]),
    );
    receive(part.subarray(0, -1));
    expect(gathering.bytes).toBe(held);
  }
  expect(made.map((each) => each.equals(message))).toEqual([true]);
  expect(gathering.bytes).toBe(0);
  expect(dropped.repeated).toBeGreaterThan(30);
});
