// The database takes entries of the log only if anybody can recompute their hash: `changes` must be written as RFC 8785
// has it, or one bad text would make every later proof fail.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import canonicalize from "canonicalize";
import { Caller } from "../../../services/shared/caller.ts";
import { fillTenant, openScene, type Scene } from "../tenancy/scene.ts";

let scene: Scene;
let tenantId: number;
beforeAll(async () => {
  scene = await openScene(2);
  tenantId = (await fillTenant(scene.owner, "ours")).tenantId;
});
afterAll(() => scene.stop());

const notCanonical: readonly string[] = [
  "[]",
  "null",
  '"text"',
  "1",
  "true",
  " {}",
  "{} ",
  "{ }",
  "{\n}",
  '{"a": 1}',
  '{"a" :1}',
  '{"a":1 }',
  '{ "a":1}',
  '{"a":1, "b":2}',
  '{"a":[1, 2]}',
  '{"a":[ ]}',
  '{"b":1,"a":2}',
  '{"a":{"b":1,"a":2}}',
  '{"a":[{"b":1,"a":2}]}',
  '{"a":1,"B":2}',
  '{"a_b":1,"a":2}',
  '{"a2":1,"a10":2}',
  '{"a":1,"a":1}',
  '{"a":1,"a":2}',
  '{"a":{"b":1,"b":1}}',
  '{"a":1,"b":2,"a":3}',
  '{"a":1.0}',
  '{"a":1.10}',
  '{"a":1e2}',
  '{"a":1E2}',
  '{"a":1e-7}',
  '{"a":0.0000001}',
  '{"a":-0}',
  '{"a":-0.0}',
  '{"a":0.0}',
  '{"a":9007199254740992}',
  '{"a":-9007199254740992}',
  '{"a":123456789012345678}',
  '{"a":0.1000000000000000055}',
  '{"a":0.30000000000000001}',
  '{"a":[1.0]}',
  '{"a":"\\u00e9"}',
  '{"a":"\\/"}',
  '{"a":"\\u000a"}',
  '{"a":"\\u001F"}',
  '{"a":"\\u0041"}',
  '{"a":"\\u0022"}',
  '{"\\u0061":1}',
  '{"a":["\\u00e9"]}',
  '{"a":"\\ud83d\\ude00"}',
  '{"a":"\\u2028"}',
  // Keys that would sort one way by bytes and another by UTF-16, or that have to be escaped.
  '{"é":1}',
  '{"a\\"b":1}',
  '{"a\\\\b":1}',
  '{"\\n":1}',
  '{"\u{1f600}":1}',
];

/** Not JSON, or no text at all: refused before it is looked at. */
const notText: readonly string[] = [
  '{"a":"\\ud83d"}',
  '{"a":"\\u0000"}',
  '{"a":NaN}',
  "{'a':1}",
  '{"a":01}',
  '{"a":1,}',
  "",
  '{"a":"\n"}',
];

const insert =
  "insert into audit_entries (tenant_id, action, outcome, changes) values ($1, 'user.test', 'ok', $2)";
const append = `select append_entries($1, null, array[null::integer], array['patient.test'], array[null], array[null],
  array['ok'], array[$2::json], array[null], array[null], array[null])`;

describe("the database refuses", () => {
  it.each([...notCanonical, ...notText])("%j", async (text) => {
    const { database } = scene.connected;
    const heads = async () =>
      (await scene.owner.query("select seq from audit_heads where tenant_id = $1", [tenantId])).rows;
    const before = await heads();
    for (const statement of [insert, append]) {
      const write = database.write({ tenantId }, Caller.system("test"), {
        text: statement,
        values: [tenantId, text],
      });
      await expect(write).rejects.toMatchObject({
        code: expect.stringMatching(notText.includes(text) ? /^22/ : /^(?:23514|22P05)$/),
      });
    }
    expect(await heads()).toEqual(before);
  });

  it("the same of its owner", async () => {
    await expect(scene.owner.query(insert, [tenantId, '{"a": 1}'])).rejects.toMatchObject({ code: "23514" });
  });

  it.each([
    ["an action that is none", "'User.Block'", "'ok'", "'{}'"],
    ["an action without a verb", "'user'", "'ok'", "'{}'"],
    ["an outcome that is none", "'user.test'", "'good'", "'{}'"],
    [
      "what is too long to be facts",
      "'user.test'",
      "'ok'",
      `json_build_object('a', repeat('a', 70000))::text::json`,
    ],
  ])("%s", async (_what, action, outcome, changes) => {
    const text = `insert into audit_entries (tenant_id, action, outcome, changes)
      select $1, ${action}, ${outcome}, replace(${changes}::text, ' ', '')::json`;
    await expect(
      scene.connected.database.write({ tenantId }, Caller.system("test"), { text, values: [tenantId] }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^(?:23514|42501)$/) });
  });
});

/** The same numbers each time (mulberry32). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const signs = Array.from(
  "aZ09 _-.:/\\\"'{}[],\b\f\n\r\t\u0001\u001f\u007f\u0080éßçжД漢字\u2028\u2029\ufeff\uffff😀𝒳",
);
const keySigns = Array.from("abcXYZ0189_-.: {}[],'/");

function randomValue(random: () => number, depth: number): unknown {
  const below = (n: number) => Math.floor(random() * n);
  const text = (from: readonly string[]) =>
    Array.from({ length: below(8) }, () => from[below(from.length)]).join("");
  switch (below(depth > 3 ? 6 : 9)) {
    case 0:
      return null;
    case 1:
      return random() < 0.5;
    case 2:
      return below(2) === 0 ? below(1_000) : Math.floor((random() - 0.5) * 2 ** 54);
    case 3:
      // Plain decimals of up to 15 digits, the least a millionth.
      return Number(`${below(1_000_000)}.${String(below(1_000_000_000)).padStart(9, "0")}`);
    case 4:
    case 5:
      return text(signs);
    case 6:
      return Array.from({ length: below(4) }, () => randomValue(random, depth + 1));
    default:
      return Object.fromEntries(
        Array.from({ length: below(6) }, () => [text(keySigns), randomValue(random, depth + 1)]),
      );
  }
}

it("takes all that canonicalize makes of such values", async () => {
  const random = chance(20_261_121);
  const texts = Array.from({ length: 5_000 }, () => {
    const entries = Array.from({ length: 4 }, (_, at) => [`k${at}`, randomValue(random, 0)]);
    return canonicalize(Object.fromEntries(entries)) ?? "";
  });
  const { rows } = await scene.owner.query(
    "select t as refused from unnest($1::text[]) t where not audit_is_canonical(t::json)",
    [texts],
  );
  expect(rows).toEqual([]);
});

it("takes the longest digits a double may have, too", async () => {
  const texts = [
    0.1 + 0.2,
    1 / 3,
    2 / 3,
    123.456_789_012_345_67,
    0.000_001,
    999_999.999_999_999_9,
    Number.MAX_SAFE_INTEGER,
  ].map((a) => canonicalize({ a }));
  const { rows } = await scene.owner.query(
    "select t as refused from unnest($1::text[]) t where not audit_is_canonical(t::json)",
    [texts],
  );
  expect(rows).toEqual([]);
});

it("takes a reordered or rewritten text of the same value for none", async () => {
  const random = chance(4_711);
  const spoilt = Array.from({ length: 1_000 }, () => {
    const entries = Array.from({ length: 4 }, (_, at) => [`k${at}`, randomValue(random, 0)] as const);
    const value = Object.fromEntries([...entries].reverse());
    const text = canonicalize(value) ?? "";
    const ways = [
      JSON.stringify(value),
      JSON.stringify(JSON.parse(text), null, 1),
      `${text} `,
      text.replace(":", ": "),
    ];
    return ways[Math.floor(random() * ways.length)] ?? "";
  });
  const { rows } = await scene.owner.query(
    "select t as taken from unnest($1::text[]) t where audit_is_canonical(t::json)",
    [spoilt],
  );
  expect(rows).toEqual([]);
});
