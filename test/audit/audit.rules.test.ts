// The audit chain's arithmetic: any altered field, gap or wrong predecessor is found.
import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { AuditEntry } from "../../services/audit/audit.contract.ts";
import { actionFilterFault } from "../../services/audit/action-filter.rules.ts";
import { entryHash, follows, genesis, type Link } from "../../services/audit/audit.rules.ts";

function link(last: Link, more: Partial<AuditEntry> = {}): AuditEntry {
  const entry: AuditEntry = {
    id: last.seq + 101,
    seq: last.seq + 1,
    tenant_id: 7,
    user_id: 3,
    action: "user.block",
    target_type: "user",
    target_id: "12",
    outcome: "ok",
    changes: { fields: ["name"], was_pending: false },
    ip: "127.0.0.1",
    user_agent: 'curl/8 "quoted" \\ ü',
    request_id: "0123456789",
    created_at: "2026-01-02T03:04:05.678Z",
    prev_hash: last.hash,
    hash: "",
    ...more,
  };
  return { ...entry, hash: more.hash ?? entryHash(last.hash, entry) };
}

describe("an entry's hash", () => {
  it("is SHA-256 of the previous hash and the entry's canonical JSON", () => {
    const entry = link(genesis, { user_agent: null, changes: {} });
    const canonical =
      '{"action":"user.block","changes":{},"created_at":"2026-01-02T03:04:05.678Z","id":101,"ip":"127.0.0.1",' +
      '"outcome":"ok","request_id":"0123456789","seq":1,"target_id":"12","target_type":"user","tenant_id":7,' +
      '"user_agent":null,"user_id":3}';
    const expected = createHash("sha256").update(Buffer.alloc(32)).update(canonical).digest("hex");
    expect(entryHash(genesis.hash, entry)).toBe(expected);
  });

  it("does not depend on the order of keys", () => {
    const entry = link(genesis);
    const reversed = Object.fromEntries(Object.entries(entry).reverse()) as unknown as AuditEntry;
    expect(entryHash(genesis.hash, reversed)).toBe(entry.hash);
  });
});

describe("a chain", () => {
  const first = link(genesis);
  const second = link(first);

  it("holds when every entry follows the one before", () => {
    expect(follows(genesis, first)).toBe(true);
    expect(follows(first, second)).toBe(true);
  });

  it.each([
    ["id", { id: 999 }],
    ["tenant", { tenant_id: 8 }],
    ["user", { user_id: null }],
    ["action", { action: "user.unblock" }],
    ["target type", { target_type: "tenant" }],
    ["target", { target_id: "13" }],
    ["outcome", { outcome: "denied" as const }],
    ["changes", { changes: { fields: ["name"], was_pending: true } }],
    ["an added change", { changes: { fields: ["name"], was_pending: false, more: 1 } }],
    ["address", { ip: "127.0.0.2" }],
    ["user agent", { user_agent: null }],
    ["request id", { request_id: "0123456780" }],
    ["time, by a millisecond", { created_at: "2026-01-02T03:04:05.679Z" }],
    ["previous hash", { prev_hash: "11".repeat(32) }],
    ["hash", { hash: "22".repeat(32) }],
    ["number", { seq: 3 }],
  ])("breaks where the %s was altered", (_what, altered) => {
    expect(follows(first, { ...second, ...altered })).toBe(false);
  });

  it("breaks where one is missing, doubled, first or out of order, even with a hash made to fit", () => {
    const third = link(second);
    expect(follows(first, third)).toBe(false);
    expect(follows(first, first)).toBe(false);
    expect(follows(genesis, second)).toBe(false);
    expect(follows(second, first)).toBe(false);
    expect(follows(first, link({ seq: 5, hash: first.hash }))).toBe(false);
  });
});

describe("the action filter", () => {
  it.each(["user.block", "user.*", "department.create", "auth.login", "preferences.update", "a_b.c_d"])(
    "%s is one",
    (filter) => {
      expect(actionFilterFault(filter)).toBeUndefined();
    },
  );

  it.each([
    "",
    "*",
    "user",
    "user.",
    ".block",
    "*.block",
    "user.b*",
    "user.**",
    "User.Block",
    "user.block ",
    "user.%",
    "a.b.c",
    "user\n.x",
  ])("%j is none", (filter) => {
    expect(actionFilterFault(filter)).toMatch(/resource\.verb/);
  });
});
