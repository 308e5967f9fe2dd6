// What callers are told of errors that are not for them.
import { expect, it } from "@jest/globals";
import { exposedFacts } from "../../services/shared/errors.ts";
import { translate } from "../../services/shared/failures.ts";
import { SealBroken } from "../../services/shared/sealing/seal-broken.ts";

it("a sealed value that does not open is 503, never 500, and stands in the log", () => {
  const { told, noteworthy } = translate(new SealBroken("authentication"));
  expect(told).toMatchObject({ code: 503, type: "sealed_field_unreadable" });
  expect([exposedFacts(told)?.retryAfterSeconds, noteworthy]).toEqual([2, true]);
});
