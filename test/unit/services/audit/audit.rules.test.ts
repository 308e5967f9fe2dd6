// The audit chain's arithmetic: any altered field, gap or wrong predecessor is found, each by its own name.
import { createHash } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { actionFilterFault } from "../../../../services/audit/action-filter.rules.ts";
import {
  entryHash,
  genesis,
  isCanonical,
  type Link,
  type StoredEntry,
} from "../../../../services/audit/audit.rules.ts";
import { ChainVerifier } from "../../../../services/audit/chain-verifier.ts";

function link(last: Link, more: Partial<StoredEntry> = {}): StoredEntry {
  const entry: StoredEntry = {
    id: last.seq + 101,
    seq: last.seq + 1,
    tenant_id: 7,
    user_id: 3,
    action: "user.block",
    target_type: "user",
    target_id: "12",
    outcome: "ok",
    changes: '{"fields":["name"],"was_pending":false}',
    ip: "127.0.0.1",
    user_agent: 'curl/8 "quoted" \\ \u00fc',
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
    const entry = link(genesis, { user_agent: null, changes: "{}" });
    const canonical =
      '{"action":"user.block","changes":{},"created_at":"2026-01-02T03:04:05.678Z","id":101,"ip":"127.0.0.1",' +
      '"outcome":"ok","request_id":"0123456789","seq":1,"target_id":"12","target_type":"user","tenant_id":7,' +
      '"user_agent":null,"user_id":3}';
    const expected = createHash("sha256").update(Buffer.alloc(32)).update(canonical).digest("hex");
    expect(entryHash(genesis.hash, entry)).toBe(expected);
  });

  it("does not depend on the order of keys", () => {
    const entry = link(genesis);
    const reversed = Object.fromEntries(Object.entries(entry).reverse()) as unknown as StoredEntry;
    expect(entryHash(genesis.hash, reversed)).toBe(entry.hash);
  });

  it("is of the changes' text as it is stored, not of what it means", () => {
    const spaced = link(genesis, { changes: '{ "a": 1 }' });
    expect(spaced.hash).not.toBe(link(genesis, { changes: '{"a":1}' }).hash);
  });
});

describe("the text of changes", () => {
  it.each([
    "{}",
    '{"a":1,"b":[true,null,"\\u000f","\u20ac"]}',
    '{"a":{"b":1e+30}}',
    '{"\ud83d\ude02":1,"\ufb33":2}',
  ])("%s is canonical", (text) => expect(isCanonical(text)).toBe(true));
  it.each([
    ["a space", '{"a": 1}'],
    ["unsorted keys", '{"b":1,"a":1}'],
    ["a key twice", '{"a":1,"a":1}'],
    ["a number in another spelling", '{"a":1.0}'],
    ["a number too large to be exact", '{"a":12345678901234567890}'],
    ["an escape that none needs", '{"a":"\\u0041"}'],
    ["half a character", '{"a":"\\ud800"}'],
    ["no JSON", "{"],
  ])("with %s is not", (_what, text) => expect(isCanonical(text)).toBe(false));
});

/** A walk over entries, and what it found: "seq reason", or "seq-to reason" for a run. */
function findings(entries: StoredEntry[], signed: Record<number, string> = {}, from = genesis): string[] {
  const walk = new ChainVerifier(from);
  for (const entry of entries) walk.check(entry, signed[entry.seq]);
  expect(walk.badTotal).toBe(walk.bad.length);
  expect(walk.firstBad).toBe(walk.bad[0]?.seq ?? null);
  return walk.bad.map(({ seq, to_seq: to, reason }) => `${seq === to ? seq : `${seq}-${to}`} ${reason}`);
}

describe("a walk along a chain", () => {
  const chain = Array.from({ length: 6 }).reduce<StoredEntry[]>(
    (all) => [...all, link(all.at(-1) ?? genesis)],
    [],
  );
  const third = chain[2] ?? link(genesis);
  const second = chain[1] ?? link(genesis);
  const withThird = (entry: StoredEntry) => chain.map((each) => (each === third ? entry : each));

  it("finds nothing where every entry follows the one before, from the first or from any on", () => {
    expect(findings(chain)).toEqual([]);
    expect(findings(chain.slice(3), {}, third)).toEqual([]);
  });

  it.each([
    ["id", { id: 999 }],
    ["tenant", { tenant_id: 8 }],
    ["user", { user_id: null }],
    ["action", { action: "user.unblock" }],
    ["target type", { target_type: "tenant" }],
    ["target", { target_id: "13" }],
    ["outcome", { outcome: "denied" as const }],
    ["changes", { changes: '{"fields":["name"],"was_pending":true}' }],
    ["changes' text, by a space", { changes: '{"fields":["name"], "was_pending":false}' }],
    ["address", { ip: "127.0.0.2" }],
    ["user agent", { user_agent: null }],
    ["request id", { request_id: "0123456780" }],
    ["time, by a millisecond", { created_at: "2026-01-02T03:04:05.679Z" }],
    ["hash", { hash: "22".repeat(32) }],
  ])("names an entry of which the %s was altered, and no other", (_what, altered) => {
    expect(findings(withThird({ ...third, ...altered }))).toEqual(["3 hash"]);
  });

  it("names an entry that links elsewhere, or whose predecessor was made to fit", () => {
    expect(findings(withThird({ ...third, prev_hash: "11".repeat(32) }))).toEqual(["3 link"]);
    expect(findings(withThird(link(second, { outcome: "denied" })))).toEqual(["4 link"]);
  });

  it("names each of several, also behind a gap, and a run of missing ones once", () => {
    const [first = third, , , fourth = third, fifth = third, sixth = third] = chain;
    expect(findings([{ ...first, ip: null }, fourth, { ...fifth, ip: null }, sixth])).toEqual([
      "1 hash",
      "2-3 missing",
      "5 hash",
    ]);
    expect(findings(chain.slice(2))).toEqual(["1-2 missing"]);
  });

  it("names an entry whose changes are not canonical, and goes on with its hash", () => {
    const odd = link(second, { changes: '{"b":1, "a":2}' });
    expect(findings([...chain.slice(0, 2), odd, link(odd), link(link(odd))])).toEqual(["3 not_canonical"]);
  });

  it("names an entry that is not the signed one, unless it is at fault by itself already", () => {
    const hash = "33".repeat(32);
    expect(findings(chain, { 2: second.hash, 3: third.hash })).toEqual([]);
    expect(findings(chain, { 2: second.hash, 3: hash })).toEqual(["3 checkpoint"]);
    expect(findings(withThird({ ...third, ip: null }), { 3: hash })).toEqual(["3 hash"]);
  });

  it("lists a hundred and counts the rest", () => {
    const walk = new ChainVerifier();
    for (let seq = 2; seq <= 500; seq += 2) walk.check(link({ seq: seq - 1, hash: genesis.hash }));
    expect([walk.bad.length, walk.badTotal, walk.firstBad]).toEqual([100, 250, 1]);
  });

  it("ends at the head's own hash, or at the one that was the last entry's before it was altered", () => {
    const ends = (entries: StoredEntry[], hash: string) => {
      const walk = new ChainVerifier();
      for (const entry of entries) walk.check(entry);
      walk.end({ seq: 3, hash });
      return walk.bad.map(({ reason }) => reason);
    };
    const three = chain.slice(0, 3);
    expect(ends(three, third.hash)).toEqual([]);
    expect(ends(three, second.hash)).toEqual(["head"]);
    expect(ends([...chain.slice(0, 2), { ...third, hash: second.hash }], third.hash)).toEqual(["hash"]);
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
