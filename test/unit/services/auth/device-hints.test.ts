// The hints by which a device is known again: what opens them, what does not, and that slots name nobody.
import { describe, expect, it } from "@jest/globals";
import { DeviceHints } from "../../../../services/auth/device-hints.ts";
import { Slots } from "../../../../services/auth/slots.ts";

const secret = "one-secret-of-thirty-two-characters";
const nowMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;
const owner = { tenantId: 3, userId: 7 };
const hints = new DeviceHints(secret, []);
const hint = hints.issue(owner, nowMs);

describe("a hint", () => {
  it("is a random name, an end and a MAC, and says nothing of the account", () => {
    expect(hint).toMatch(/^[\w-]{16}\.\d{10}\.[\w-]{22}$/);
    expect(hints.deviceOf(hint, owner, nowMs)).toBe(hint.slice(0, 16));
    expect(new Set(Array.from({ length: 50 }, () => hints.issue(owner, nowMs))).size).toBe(50);
  });

  it("keeps the name it is given", () => {
    const renewed = hints.issue(owner, nowMs + dayMs, hint.slice(0, 16));
    expect(renewed).not.toBe(hint);
    expect(hints.deviceOf(renewed, owner, nowMs)).toBe(hint.slice(0, 16));
  });

  it.each([
    ["another user", { tenantId: 3, userId: 8 }],
    ["another tenant", { tenantId: 4, userId: 7 }],
    ["ids that read alike when written together", { tenantId: 37, userId: 0 }],
    ["nobody", { tenantId: 3, userId: 0 }],
  ])("is none for %s", (_, other) => expect(hints.deviceOf(hint, other, nowMs)).toBeUndefined());

  it("ends after 180 days", () => {
    expect(hints.deviceOf(hint, owner, nowMs + 180 * dayMs - 1)).toBeDefined();
    expect(hints.deviceOf(hint, owner, nowMs + 180 * dayMs)).toBeUndefined();
  });

  it("still counts after the secret was rotated, and not without the earlier one", () => {
    const other = "another-secret-of-thirty-two-chars";
    expect(new DeviceHints(other, [secret]).deviceOf(hint, owner, nowMs)).toBeDefined();
    expect(new DeviceHints(other, []).deviceOf(hint, owner, nowMs)).toBeUndefined();
  });

  const [name = "", ends = "", mac = ""] = hint.split(".");
  it.each([
    undefined,
    "",
    "x",
    `${name}.${ends}`,
    `${name}.${ends}.`,
    `${name}.${Number(ends) + 1}.${mac}`,
    `${name}.${ends}.${"A".repeat(22)}`,
    `${hint}.`,
    ` ${hint}`,
    `${hint}\n`,
    "x".repeat(100_000),
    "....",
  ])("%j is none", (text) => expect(hints.deviceOf(text, owner, nowMs)).toBeUndefined());
});

describe("slots", () => {
  const slots = new Slots(secret);
  it("are the same for the same name, as many as wanted, and others under another secret", () => {
    const names = Array.from({ length: 5_000 }, (_, at) => `name-${at}@people.example`);
    const given = names.map((name) => slots.of("ghost", name, 1_024));
    expect(names.map((name) => slots.of("ghost", name, 1_024))).toEqual(given);
    expect(Math.max(...given)).toBeLessThan(1_024);
    expect(new Set(given).size).toBeGreaterThan(900);
    const others = new Slots("another-secret-of-thirty-two-chars");
    expect(names.map((name) => others.of("ghost", name, 1_024))).not.toEqual(given);
    expect(names.map((name) => slots.of("address", name, 1_024))).not.toEqual(given);
  });
});
