// When a second signal counts.
import { describe, expect, it } from "@jest/globals";
import { Stopping } from "../../../host/stopping.ts";

function scene() {
  let now = 5_000;
  let closed = () => {};
  const exits: number[] = [];
  let closings = 0;
  const stopping = new Stopping({
    now: () => now,
    stopMsMax: 30_000,
    exit: (code) => void exits.push(code),
    close: () => {
      closings++;
      return new Promise((resolve) => {
        closed = () => resolve();
      });
    },
  });
  return {
    stopping,
    exits,
    pass: (ms: number) => (now += ms),
    end: () => closed(),
    closings: () => closings,
  };
}

describe("signals", () => {
  it("one stops in order, with 0 when all is closed", async () => {
    const { stopping, exits, end, closings } = scene();
    expect(stopping.hasBegun).toBe(false);
    stopping.signal();
    expect([stopping.hasBegun, closings(), exits]).toEqual([true, 1, []]);
    end();
    await new Promise(setImmediate);
    expect(exits).toEqual([0]);
  });
  it("others within a second are the same one", () => {
    const { stopping, exits, pass, closings } = scene();
    stopping.signal();
    stopping.signal();
    pass(999);
    stopping.signal();
    expect([closings(), exits]).toEqual([1, []]);
  });
  it("one after a second ends it as it is, with 1", () => {
    const { stopping, exits, pass } = scene();
    stopping.signal();
    pass(1_000);
    stopping.signal();
    expect(exits).toEqual([1]);
  });
});

describe("a failure", () => {
  it("stops in order, with 1", async () => {
    const { stopping, exits, end } = scene();
    stopping.fail();
    end();
    await new Promise(setImmediate);
    expect(exits).toEqual([1]);
  });
  it("while it is being stopped ends it at once", () => {
    const { stopping, exits } = scene();
    stopping.signal();
    stopping.fail();
    expect(exits).toEqual([1]);
  });
});
