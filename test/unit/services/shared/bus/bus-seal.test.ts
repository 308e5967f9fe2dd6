// What is sealed for the bus: opens once per receiver, on its own subject, within a minute, and what a stranger sends
// costs a bounded number of steps and changes nothing.
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { BusSeal, type Dropped, freshMsMax } from "../../../../../services/shared/bus/bus-seal.ts";
import { CounterWindow, windowLength } from "../../../../../services/shared/bus/counter-window.ts";

const secret = "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R";
const subject = "MOL-records.REQ.node-1";
const text = Buffer.from('{"ver":"5"}');
const headBytes = 1 + 16 + 12;

let now = 1_800_000_000_000;
const realNow = Date.now;
beforeEach(() => {
  now = 1_800_000_000_000;
  Date.now = () => now;
});
afterEach(() => {
  Date.now = realNow;
});

function node(busSecret = secret) {
  const dropped: Dropped = { foreign: 0, stale: 0, repeated: 0, other_start: 0 };
  return { seal: new BusSeal(busSecret, dropped), dropped };
}

describe("a message", () => {
  it("opens once at each node that it reaches", () => {
    const sender = node();
    const receivers = [node(), node()];
    const message = sender.seal.seal(subject, text);
    for (const { seal, dropped } of receivers) {
      expect(seal.open(subject, message)).toEqual(text);
      for (let time = 0; time < 20; time++) expect(seal.open(subject, message)).toBeUndefined();
      expect(dropped).toMatchObject({ foreign: 0, stale: 0, repeated: 20 });
    }
  });

  it.each([
    ["another node", "MOL-records.REQ.node-2"],
    ["all nodes", "MOL-records.REQ"],
    ["another kind", "MOL-records.EVENT.node-1"],
    ["another installation", "MOL-other.REQ.node-1"],
  ])("opens on no other subject: %s", (_name, other) => {
    const message = node().seal.seal(subject, text);
    const receiver = node();
    expect(receiver.seal.open(other, message)).toBeUndefined();
    expect(receiver.dropped.foreign).toBe(1);
    expect(receiver.seal.open(subject, message)).toEqual(text);
  });

  it("opens nowhere with another secret, or with any bit changed", () => {
    const message = node().seal.seal(subject, text);
    expect(node("k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4").seal.open(subject, message)).toBeUndefined();
    const receiver = node();
    for (let at = 0; at < message.length; at++) {
      const changed = Buffer.from(message);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(receiver.seal.open(subject, changed)).toBeUndefined();
    }
    expect(receiver.seal.open(subject, message)).toEqual(text);
  });

  it.each([-freshMsMax - 1, freshMsMax + 1])("is refused when it is %i ms from now", (ms) => {
    const message = node().seal.seal(subject, text);
    now -= ms;
    const receiver = node();
    expect(receiver.seal.open(subject, message)).toBeUndefined();
    expect(receiver.dropped.stale).toBe(1);
  });
});

describe("messages of one sender", () => {
  it("may overtake each other, and each opens once in whatever order they come and come again", () => {
    const order = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(order, (arrivals) => {
        const sender = node();
        const receiver = node();
        const messages = Array.from({ length: 100 }, (_, n) => sender.seal.seal(subject, Buffer.from([n])));
        const opened = arrivals.flatMap((n) => {
          const data = receiver.seal.open(subject, messages[n] ?? Buffer.alloc(0));
          return data === undefined ? [] : [data[0]];
        });
        expect(opened).toEqual([...new Set(arrivals)]);
      }),
      { numRuns: 50 },
    );
  });

  it("that are overtaken by a whole window are dropped, as nobody knows whether they have come", () => {
    const window = new CounterWindow();
    const seen = (counter: number) => {
      const known = window.has(counter);
      if (!known) window.add(counter);
      return known;
    };
    expect([0, 1, 5].map(seen)).toEqual([false, false, false]);
    expect(seen(windowLength)).toBe(false);
    // 0 has left the window, 1 is its last, 2 never came, 5 did.
    expect([0, 1, 2, 5, windowLength].map(seen)).toEqual([true, true, false, true, true]);
    expect(seen(2 ** 47)).toBe(false);
    expect([2, 5, windowLength, 2 ** 47 - windowLength].map(seen)).toEqual([true, true, true, true]);
    expect([2 ** 47 - windowLength + 1, 2 ** 47 - 1, 2 ** 47].map(seen)).toEqual([false, false, true]);
  });

  it("skip what went to other nodes: the places of skipped numbers are free again", () => {
    const window = new CounterWindow();
    window.add(5);
    // The number that is skipped just before has the place that 5 had.
    window.add(windowLength + 6);
    expect(window.has(windowLength + 5)).toBe(false);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: windowLength + 10 }), { maxLength: 50 }), (steps) => {
        const fresh = new CounterWindow();
        let counter = 0;
        for (const step of steps) {
          counter += step;
          expect(fresh.has(counter)).toBe(false);
          fresh.add(counter);
          if (step > 1) expect(fresh.has(counter - 1)).toBe(false);
          expect(fresh.has(counter)).toBe(true);
        }
      }),
    );
  });
});

describe("a stranger", () => {
  const garbage = (moment = now) => {
    const message = randomBytes(200);
    message[0] = 2;
    message.writeUIntBE(moment, 17, 6);
    return message;
  };

  it("makes a receiver derive one key and try one decryption at most, and is not remembered", () => {
    const { seal, dropped } = node();
    const before = { ...seal.work };
    for (let sent = 0; sent < 5_000; sent++) expect(seal.open(subject, garbage())).toBeUndefined();
    expect(seal.work).toEqual({ keys: before.keys + 5_000, decryptions: before.decryptions + 5_000 });
    expect(dropped.foreign).toBe(5_000);
    expect(seal.knownSenders).toBe(0);
  });

  it("costs neither with what is too short, of another version, or not of this minute", () => {
    const { seal } = node();
    const before = { ...seal.work };
    for (const message of [
      Buffer.alloc(0),
      garbage().subarray(0, headBytes + 15),
      Buffer.from("{}"),
      Buffer.concat([Buffer.from([0]), garbage()]),
      garbage(now - freshMsMax - 1),
      garbage(now + freshMsMax + 1),
      garbage(0),
    ])
      expect(seal.open(subject, message)).toBeUndefined();
    expect(seal.work).toEqual(before);
  });

  it("who copies a sender's head uses up none of its numbers, and repeats cost nothing at all", () => {
    const sender = node();
    const { seal, dropped } = node();
    const [first, second] = [sender.seal.seal(subject, text), sender.seal.seal(subject, text)];
    expect(seal.open(subject, first)).toEqual(text);
    const before = { ...seal.work };
    for (let sent = 0; sent < 1_000; sent++) {
      const forged = Buffer.concat([second.subarray(0, headBytes), randomBytes(100)]);
      expect(seal.open(subject, forged)).toBeUndefined();
      expect(seal.open(subject, first)).toBeUndefined();
    }
    expect(seal.work).toEqual({ keys: before.keys, decryptions: before.decryptions + 1_000 });
    expect(dropped).toMatchObject({ foreign: 1_000, repeated: 1_000 });
    expect(seal.open(subject, second)).toEqual(text);
  });
});

describe("more senders than are remembered", () => {
  it("let the one go that was quiet for longest, without ever taking its messages again", () => {
    const receiver = node();
    const senders = Array.from({ length: 1_024 + 50 }, () => node());
    const messages = senders.map(({ seal }) => {
      now += 10;
      const message = seal.seal(subject, text);
      expect(receiver.seal.open(subject, message)).toEqual(text);
      return message;
    });
    expect(receiver.seal.knownSenders).toBe(1_024);
    for (const message of messages) expect(receiver.seal.open(subject, message)).toBeUndefined();
    expect(receiver.dropped).toMatchObject({ stale: 50, repeated: 1_024, foreign: 0 });
    // Those that were let go are met again by what they say next.
    now += 10;
    for (const { seal } of senders.slice(0, 50))
      expect(receiver.seal.open(subject, seal.seal(subject, text))).toEqual(text);
    for (const message of messages) expect(receiver.seal.open(subject, message)).toBeUndefined();
  });

  it("hold when this node's clock is set back", () => {
    const receiver = node();
    const [first, ...others] = Array.from({ length: 1_025 }, () => node());
    const early = first?.seal.seal(subject, text) ?? Buffer.alloc(0);
    expect(receiver.seal.open(subject, early)).toEqual(text);
    for (const { seal } of others) {
      now += 100;
      expect(receiver.seal.open(subject, seal.seal(subject, text))).toEqual(text);
    }
    now -= 1_024 * 100;
    expect(receiver.seal.open(subject, early)).toBeUndefined();
    expect(receiver.dropped.stale).toBe(1);
  });
});
