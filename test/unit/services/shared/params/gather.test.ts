/** From the places of a request to the flat object: every name only from where it is declared. */
import { describe, expect, it } from "@jest/globals";
import { compileGather } from "../../../../../services/shared/params/gather.ts";
import { inHeader, optional } from "../../../../../services/shared/params/modifiers.ts";
import { integer, pathId, text } from "../../../../../services/shared/params/rules.ts";

const gather = compileGather({
  path: { user_id: pathId() },
  query: { page: optional(integer()) },
  header: { signature: optional(inHeader(text(), "Provider-Signature")) },
  body: { role: text(), note: optional(text()) },
});
const nothing = { path: {}, query: {}, header: {}, body: {} };

describe("a request's parameters", () => {
  it("are gathered by place", () => {
    const sent = {
      path: { user_id: "7" },
      query: { page: "2" },
      header: { "provider-signature": "t=1" },
      body: { role: "nurse" },
    };
    expect({ ...gather(sent) }).toEqual({ user_id: "7", page: "2", signature: "t=1", role: "nurse" });
  });

  it.each(["query", "header", "body"])("a path id in the %s does not count", (place) => {
    expect({ ...gather({ ...nothing, path: { user_id: "7" }, [place]: { user_id: "8" } }) }).toEqual({
      user_id: "7",
    });
  });

  it.each(["path", "query", "header"])("a body field in the %s does not count", (place) => {
    expect({ ...gather({ ...nothing, [place]: { role: "admin", signature: "x" } }) }).toEqual({});
  });

  it("unknown and inherited names do not count", () => {
    const body: Record<string, unknown> = JSON.parse('{"__proto__":{"role":"admin"},"is_admin":true}');
    expect({ ...gather({ ...nothing, body }) }).toEqual({});
    expect({ ...gather({ ...nothing, body: Object.create({ role: "admin" }) }) }).toEqual({});
  });

  it("may lack a body", () => {
    expect({ ...gather({ ...nothing, body: undefined }) }).toEqual({});
  });
});
