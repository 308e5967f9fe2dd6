// Which links to reset a password are open, and which of them a new one ends.
import { describe, expect, it } from "@jest/globals";
import { type OpenLink, slotFor } from "../../../../services/users/reset-links.rules.ts";

const link = (slot: number, known: boolean, request: string | null = null): OpenLink => ({
  slot,
  known,
  request,
});
const stranger = { known: false, request: "new" };
const owner = { known: true, request: "new" };

describe("a new link", () => {
  it.each([
    ["none open", [], 1],
    ["one open", [link(1, false)], 2],
    ["the first one used up or expired", [link(2, false), link(3, true)], 1],
    ["a gap", [link(3, false), link(1, true)], 2],
  ])("takes a free place with %s, whoever asked", (_, open, slot) => {
    expect(slotFor(open, stranger)).toBe(slot);
    expect(slotFor(open, owner)).toBe(slot);
  });

  it.each([
    ["all strangers'", [link(2, false), link(3, false), link(1, false)], 2],
    ["the oldest the owner's", [link(2, true), link(3, false), link(1, false)], 3],
    ["one stranger's", [link(2, true), link(3, true), link(1, false)], 1],
    ["none a stranger's", [link(3, true), link(2, true), link(1, true)], 3],
  ])(
    "with three open, %s: a stranger gets none, the owner ends the oldest of the strangers'",
    (_, open, slot) => {
      expect(slotFor(open, stranger)).toBeUndefined();
      expect(slotFor(open, owner)).toBe(slot);
    },
  );

  it("that is tried again is the same link", () => {
    const open = [link(1, true, "one"), link(2, false, "new"), link(3, false, "three")];
    expect(slotFor(open, stranger)).toBe(2);
    expect(slotFor(open, owner)).toBe(2);
  });

  it("without a wish of its own is never the same as another without", () => {
    const open = [link(1, false), link(2, false)];
    expect(slotFor(open, { known: false, request: null })).toBe(3);
  });
});
