// When a walk leaves a tenant alone, and when it gives it up.
import { describe, expect, it } from "@jest/globals";
import { TenantBackoff } from "../../../services/crypto/tenant-backoff.ts";

describe("a tenant that a walk does not get on with", () => {
  it("rests after a failure, and is given up at the sixtieth in a row", () => {
    const troubles = new TenantBackoff();
    expect(troubles.pausedTenants()).toEqual([]);
    const givenUp = Array.from({ length: 60 }, () => troubles.failed(7));
    expect(givenUp.indexOf(true)).toBe(59);
    expect(troubles.pausedTenants()).toEqual([7]);
  });

  it("begins anew when it went well", () => {
    const troubles = new TenantBackoff();
    for (let n = 0; n < 59; n++) troubles.failed(7);
    troubles.succeeded(7);
    expect(troubles.failed(7)).toBe(false);
  });

  it("is walked three times when rows go on naming an old key", () => {
    const troubles = new TenantBackoff();
    expect([1, 2, 3].map(() => troubles.extraPassNeeded(7))).toEqual([false, false, true]);
    expect(troubles.extraPassNeeded(8)).toBe(false);
    troubles.clear();
    expect(troubles.extraPassNeeded(7)).toBe(false);
  });
});
