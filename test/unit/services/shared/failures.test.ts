// What callers are told of errors that are not for them.
import { expect, it } from "@jest/globals";
import { exposedFacts } from "../../../../services/shared/errors.ts";
import { translate } from "../../../../services/shared/failures.ts";
import { SealBroken } from "../../../../services/shared/sealing/seal-broken.ts";

it("a sealed value that does not open is 503, never 500, and stands in the log", () => {
  const { publicError: told, shouldLog: noteworthy } = translate(new SealBroken("authentication"));
  expect(told).toMatchObject({ code: 503, type: "sealed_field_unreadable" });
  expect([exposedFacts(told)?.retryAfterSeconds, noteworthy]).toEqual([2, true]);
});

it.each([
  new Error("canary 4711 of patient Jane Roe"),
  Object.assign(new Error('insert into "users" canary 4711'), { code: "23505", detail: "canary 4711" }),
  "canary 4711",
  { message: "canary 4711", stack: "canary 4711" },
  undefined,
])("what is nobody's business is one constant 500, and stands in the log: %p", (thrown) => {
  const { publicError: told, shouldLog: noteworthy } = translate(thrown);
  expect([told.message, told.name, noteworthy]).toEqual(["Internal error", "MoleculerError", true]);
  expect(told).toMatchObject({ code: 500, type: "internal_error" });
  expect(told.cause).toBeUndefined();
  expect(
    JSON.stringify(Object.getOwnPropertyNames(told).map((name) => Reflect.get(told, name))),
  ).not.toContain("canary");
});
