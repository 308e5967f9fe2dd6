// Who may do what to whom, as tables over every pair of roles.
import { describe, expect, it } from "@jest/globals";
import { isHigher, registrableRoles, type Role, roles } from "../../../../services/shared/roles.ts";
import {
  type Actor,
  assertMayGrant,
  assertMayWithdraw,
  assertRoleFitsTenant,
  type Target,
} from "../../../../services/users/users.rules.ts";

const verbs = ["block", "delete", "demote"] as const;
const rank: Record<Role, number> = {
  superadmin: 3,
  admin: 2,
  head_doctor: 1,
  doctor: 0,
  nurse: 0,
  registrar: 0,
};
const pairs = roles.flatMap((one) => roles.map((other) => [one, other] as const));

/** @returns the error's code, or "allowed" */
function verdict(decide: () => void): string {
  try {
    decide();
    return "allowed";
  } catch (error) {
    return error instanceof Error && "type" in error ? String(error.type) : "no error of ours";
  }
}

const actor = (role: Role, userId: number | undefined = 1): Actor => ({ role, userId });
function target(role: Role, more: Partial<Target> = {}): Target {
  return { id: 2, role, isActive: true, otherActive: { superadmin: 5, admin: 5 }, ...more };
}

describe("granting", () => {
  it.each(pairs)("%s gives %s only when it is no higher", (mine, given) => {
    const expected = rank[given] > rank[mine] ? "role_too_high" : "allowed";
    expect(verdict(() => assertMayGrant(actor(mine), given))).toBe(expected);
  });

  it.each(pairs)("isHigher agrees for %s and %s", (one, other) => {
    expect(isHigher(one, other)).toBe(rank[one] > rank[other]);
  });

  it("only doctors, nurses and registrars may be asked for", () => {
    expect(registrableRoles).toEqual(["doctor", "nurse", "registrar"]);
  });

  it.each(roles)("%s fits a tenant by whether it is a superadmin", (role) => {
    const expected = role === "superadmin" ? "validation_error" : "allowed";
    expect(verdict(() => assertRoleFitsTenant(role, false))).toBe(expected);
    expect(verdict(() => assertRoleFitsTenant(role, true))).toBe("allowed");
  });
});

describe.each(verbs)("to %s", (verb) => {
  it.each(pairs)("%s may reach %s only when it is no higher", (mine, theirs) => {
    const expected = rank[theirs] > rank[mine] ? "role_too_high" : "allowed";
    expect(verdict(() => assertMayWithdraw(actor(mine), target(theirs), verb))).toBe(expected);
  });

  it.each(roles)("%s may not do it to themselves", (role) => {
    expect(verdict(() => assertMayWithdraw(actor(role, 2), target(role), verb))).toBe("own_account");
  });

  it("a higher role is named before one's own last-ness, and oneself before being the last", () => {
    const last = { otherActive: { superadmin: 0, admin: 0 } };
    expect(verdict(() => assertMayWithdraw(actor("admin"), target("superadmin", last), verb))).toBe(
      "role_too_high",
    );
    expect(verdict(() => assertMayWithdraw(actor("admin", 2), target("admin", last), verb))).toBe(
      "own_account",
    );
  });

  it.each([
    ["admin", { superadmin: 0, admin: 0 }, true, "last_admin"],
    ["admin", { superadmin: 9, admin: 0 }, true, "last_admin"],
    ["admin", { superadmin: 0, admin: 1 }, true, "allowed"],
    ["admin", { superadmin: 0, admin: 0 }, false, "allowed"],
    ["superadmin", { superadmin: 0, admin: 9 }, true, "last_superadmin"],
    ["superadmin", { superadmin: 1, admin: 0 }, true, "allowed"],
    ["superadmin", { superadmin: 0, admin: 0 }, false, "allowed"],
    ["head_doctor", { superadmin: 0, admin: 0 }, true, "allowed"],
    ["nurse", { superadmin: 0, admin: 0 }, true, "allowed"],
  ] as const)("%s with other active %j, active %s: %s", (role, otherActive, isActive, expected) => {
    const who = target(role, { otherActive, isActive });
    expect(verdict(() => assertMayWithdraw(actor("superadmin"), who, verb))).toBe(expected);
  });

  it("the system has no self, but the last administrator stays also for it", () => {
    const system: Actor = { role: "superadmin", userId: undefined };
    expect(verdict(() => assertMayWithdraw(system, target("admin"), verb))).toBe("allowed");
    const last = target("admin", { otherActive: { superadmin: 1, admin: 0 } });
    expect(verdict(() => assertMayWithdraw(system, last, verb))).toBe("last_admin");
  });
});
