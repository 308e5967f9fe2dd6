/** Query strings: flat texts by name, whatever a client writes. */
import { describe, expect, it } from "@jest/globals";
import { parseQuery } from "../../../../../services/shared/params/query.ts";

describe("a query string", () => {
  it.each([
    ["", {}],
    ["?", {}],
    ["?a=1&b=2", { a: "1", b: "2" }],
    ["a=1", { a: "1" }],
    ["a=", { a: "" }],
    ["a", { a: "" }],
    ["=1", { "": "1" }],
    ["a=b=c", { a: "b=c" }],
    ["a=1&&b=2&", { a: "1", b: "2" }],
    ["q=a+b%20c%2B", { q: "a b c+" }],
    ["q=J%C3%B6rg", { q: "Jörg" }],
    ["%61=1", { a: "1" }],
    ["a=1&a=2&a=3", { a: "3" }],
    ["a=1&a=", { a: "" }],
    ["a[b]=c", { "a[b]": "c" }],
    ["a[]=1&a[]=2", { "a[]": "2" }],
    ["a.b=1", { "a.b": "1" }],
    ["?a=?b", { a: "?b" }],
  ])("%j is read flat", (search, expected) => {
    expect({ ...parseQuery(search) }).toEqual(expected);
  });

  it.each(["a=%", "a=%z1", "a=%e0%a4%a", "a=%ff%fe", "%=1", "a=%00", "a=\ud800"])(
    "%j does not throw",
    (search) => {
      expect(Object.keys(parseQuery(search))).toHaveLength(1);
    },
  );

  it("has no prototype to reach for", () => {
    const query = parseQuery("__proto__=x&constructor=y&hasOwnProperty=z&a[__proto__]=1");
    expect(Object.getPrototypeOf(query)).toBeNull();
    expect(Object.keys(query).sort()).toEqual(["__proto__", "a[__proto__]", "constructor", "hasOwnProperty"]);
    expect("toString" in parseQuery("a=1")).toBe(false);
    expect({}).not.toHaveProperty("x");
  });

  it("is read up to its hundredth parameter", () => {
    const search = Array.from({ length: 5000 }, (_, i) => `p${i}=${i}`).join("&");
    expect(Object.keys(parseQuery(search))).toHaveLength(100);
  });
});
