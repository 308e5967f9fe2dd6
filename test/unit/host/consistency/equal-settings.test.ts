// What two processes find when they compare their settings, and what a fingerprint tells.
import { describe, expect, it } from "@jest/globals";
import {
  conflicts,
  differences,
  fingerprintsOf,
  mustExit,
  type ComparedSettings,
  readFingerprints,
  sessionNameOf,
  type ProcessPhase,
} from "../../../../host/consistency/equal-settings.ts";

const held: ComparedSettings = {
  busSecret: "bus",
  bootSecret: "boot",
  jwtSecret: "old",
  jwtPreviousSecrets: [],
  auditSigningKey: "audit",
  publicUrl: "https://records.example",
  keysHeldSeconds: 60,
};
const found = (own: Partial<ComparedSettings>, other: Partial<ComparedSettings>) => {
  const both = [own, other].map((each) => fingerprintsOf({ ...held, ...each }, "settled"));
  const [first, second] = both as [ReturnType<typeof fingerprintsOf>, ReturnType<typeof fingerprintsOf>];
  return { conflicts: conflicts(first, second), differences: differences(first, second) };
};

describe("two processes", () => {
  it.each<[string, Partial<ComparedSettings>, Partial<ComparedSettings>, string[], string[]]>([
    ["have the same", {}, {}, [], []],
    ["have another BOOT_SECRET", { bootSecret: "x" }, {}, ["BOOT_SECRET"], []],
    ["one of which holds no BOOT_SECRET", { bootSecret: undefined }, {}, [], []],
    ["have another JWT_SECRET", { jwtSecret: "x" }, {}, ["JWT_SECRET"], []],
    ["one of which signs no tokens", { jwtSecret: undefined }, {}, [], []],
    [
      "one of which alone accepts the tokens of the other",
      { jwtSecret: "new", jwtPreviousSecrets: ["old"] },
      {},
      ["JWT_SECRET"],
      [],
    ],
    [
      "in the midst of a rotation",
      { jwtSecret: "new", jwtPreviousSecrets: ["old"] },
      { jwtSecret: "old", jwtPreviousSecrets: ["new"] },
      [],
      [],
    ],
    ["before a rotation's first step and after it", {}, { jwtPreviousSecrets: ["new"] }, [], []],
    [
      "after a rotation's last step and before it",
      { jwtSecret: "new" },
      { jwtSecret: "new", jwtPreviousSecrets: ["old"] },
      [],
      [],
    ],
    ["have another PUBLIC_URL", { publicUrl: "https://other.example" }, {}, [], ["PUBLIC_URL"]],
    ["have another KEYS_HELD_SECONDS", { keysHeldSeconds: 5 }, {}, [], ["KEYS_HELD_SECONDS"]],
    ["have another AUDIT_SIGNING_KEY", { auditSigningKey: "x" }, {}, [], ["AUDIT_SIGNING_KEY"]],
  ])("that %s", (_what, own, other, conflicting, differing) => {
    expect(found(own, other)).toEqual({ conflicts: conflicting, differences: differing });
    expect(found(other, own)).toEqual({ conflicts: conflicting, differences: differing });
  });
});

describe("a fingerprint", () => {
  it("is another one under another BUS_SECRET, for another setting, and holds nothing of a value", () => {
    const [ours, theirs] = ["bus", "other"].map((busSecret) =>
      fingerprintsOf({ ...held, busSecret, bootSecret: "same", auditSigningKey: "same" }, "settled"),
    );
    expect(ours?.equal["BOOT_SECRET"]).not.toBe(theirs?.equal["BOOT_SECRET"]);
    expect(ours?.equal["BOOT_SECRET"]).not.toBe(ours?.alike["AUDIT_SIGNING_KEY"]);
    expect(JSON.stringify(ours)).not.toMatch(/same|old|records\.example/);
  });
  it("is read as it was shown", () => {
    const shown = fingerprintsOf(held, "new");
    expect(readFingerprints(JSON.parse(JSON.stringify(shown)))).toEqual(shown);
  });
  const shown = { standing: "new", equal: {}, alike: {} };
  it.each([
    undefined,
    null,
    1,
    "x",
    [],
    {},
    { equal: {}, alike: {} },
    { ...shown, standing: "old" },
    { ...shown, equal: null },
    { ...shown, equal: { BOOT_SECRET: 1 } },
    { ...shown, alike: { PUBLIC_URL: "x".repeat(65) } },
    { ...shown, tokens: null },
    { ...shown, tokens: { signs: "a" } },
    { ...shown, tokens: { signs: "a", accepts: "a" } },
    { ...shown, tokens: { signs: {}, accepts: [] } },
    { ...shown, tokens: { signs: "a", accepts: [null] } },
  ])("is none: %j", (told) => {
    expect(readFingerprints(told)).toBeUndefined();
  });
});

describe("of two processes that differ", () => {
  it.each<[ProcessPhase, ProcessPhase, boolean]>([
    ["starting", "starting", false],
    ["starting", "new", true],
    ["starting", "settled", true],
    ["new", "starting", false],
    ["new", "settled", true],
    ["settled", "starting", false],
    ["settled", "new", false],
    ["settled", "settled", false],
  ])("one that is %s goes before one that is %s: %s", (own, other, goes) => {
    for (const [id, otherId] of [
      ["a", "b"],
      ["b", "a"],
    ] as const)
      expect(mustExit({ id, standing: own }, { id: otherId, standing: other })).toBe(goes);
  });
  it("exactly one goes where both are new, and both see it alike", () => {
    const [a, b] = [
      { id: "a", standing: "new" },
      { id: "b", standing: "new" },
    ] as const;
    expect([mustExit(a, b), mustExit(b, a)]).toEqual([false, true]);
  });
});

it("sessions of the database have one name for one NAMESPACE and BUS_SECRET, which PostgreSQL does not cut off", () => {
  expect(sessionNameOf("records", "bus")).toBe(sessionNameOf("records", "bus"));
  expect(
    new Set(
      [
        ["a", "s"],
        ["b", "s"],
        ["a", "t"],
      ].map(([name = "", secret = ""]) => sessionNameOf(name, secret)),
    ).size,
  ).toBe(3);
  expect(sessionNameOf("n".repeat(200), "bus").length).toBeLessThan(64);
});
