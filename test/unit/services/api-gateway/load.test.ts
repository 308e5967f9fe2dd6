// What requests may hold of the process, as numbers: parts, and parts of parts.
import { describe, expect, it } from "@jest/globals";
import { type BodyKind, Load } from "../../../../services/api-gateway/load.ts";
import { Share } from "../../../../services/api-gateway/share.ts";

const megabyte = 1_048_576;

describe("a share", () => {
  it("gives so much and no more, and nothing of what is too much", () => {
    const share = new Share(10, 10);
    expect(share.take("a", 6)).toBe(true);
    expect(share.take("b", 5)).toBe(false);
    expect(share.taken).toBe(6);
    expect(share.take("b", 4)).toBe(true);
    share.giveBack("a", 6);
    expect(share.take("b", 6)).toBe(true);
    expect(share.taken).toBe(10);
  });
  it("gives one address a part of it only", () => {
    const share = new Share(10, 4);
    expect(share.take("a", 4)).toBe(true);
    expect(share.take("a", 1)).toBe(false);
    expect(share.take("b", 4)).toBe(true);
    share.giveBack("a", 1);
    expect(share.take("a", 1)).toBe(true);
  });
});

describe("the load of a process with 64 MB for bodies", () => {
  const parts: [BodyKind, number][] = [
    ["small", 16],
    ["notification", 8],
    ["large", 40],
  ];
  /** Takes bodies of 256 kB until they are refused, from as many addresses as it needs. */
  const fill = (load: Load, kind: BodyKind, addresses: number): number => {
    let bytes = 0;
    for (let at = 0; at < addresses; at++) {
      for (;;) {
        const held = load.enter(`address ${at}`);
        try {
          held.expectBody(kind, megabyte / 4);
        } catch {
          held.release();
          break;
        }
        bytes += megabyte / 4;
      }
    }
    return bytes / megabyte;
  };

  it.each(parts)(
    "%s bodies have %d MB, whatever the others hold, and one address a quarter of them",
    (kind, most) => {
      const load = new Load(64 * megabyte);
      for (const [other] of parts) if (other !== kind) fill(load, other, 8);
      expect(fill(load, kind, 1)).toBe(most / 4);
      expect(fill(load, kind, 8)).toBe((most * 3) / 4);
      expect(load.bodyBytes).toBe(64 * megabyte);
    },
  );

  it("has 2000 places, of which one address gets half", () => {
    const load = new Load(64 * megabyte);
    const enter = (address: string, times: number) =>
      Array.from({ length: times }, () => load.enter(address));
    enter("a", 1_000);
    expect(() => load.enter("a")).toThrow(expect.objectContaining({ code: 503, type: "overloaded" }));
    const held = enter("b", 1_000);
    expect(() => load.enter("c")).toThrow(expect.objectContaining({ code: 503 }));
    held[0]?.release();
    expect(load.enter("c")).toBeDefined();
    expect(load.requests).toBe(2_000);
  });

  it("counts what has really come, and forgets all of it once, at the end", () => {
    const load = new Load(64 * megabyte);
    const held = load.enter("a");
    held.expectBody("large", 100);
    held.growTo(50);
    expect(load.bodyBytes).toBe(100);
    held.growTo(5_000);
    expect(load.bodyBytes).toBe(5_000);
    held.release();
    held.release();
    expect([load.bodyBytes, load.requests]).toEqual([0, 0]);
    expect(() => held.growTo(6_000)).toThrow(expect.objectContaining({ code: 503 }));
    expect(load.bodyBytes).toBe(0);
  });

  it("lets one user have so much under way, by what it costs and from any address", () => {
    const load = new Load(64 * megabyte);
    const enter = (userId: number, weight?: number) => {
      const held = load.enter(`address ${load.requests}`);
      held.weigh(userId, weight);
      return held;
    };
    const exports = Array.from({ length: 39 }, () => enter(1, 50));
    // What takes minutes elsewhere weighs no more than two of them.
    expect(() => enter(1, 600)).toThrow(expect.objectContaining({ code: 503, type: "overloaded" }));
    const last = enter(1, 50);
    expect(() => enter(1)).toThrow(expect.objectContaining({ code: 503 }));
    enter(2, 600);
    last.release();
    last.release();
    exports[0]?.release();
    enter(1, 600);
    expect(() => enter(1)).toThrow(expect.objectContaining({ code: 503 }));
  });
});
