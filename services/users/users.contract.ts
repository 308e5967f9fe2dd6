// Actions of the users service: administration of users, and the caller's own profile.
import { allow, onlyServices, signedIn } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { deletedList } from "../shared/deleted.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional, withDefault } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { email, flag, id, integer, listOf, oneOf, pathId, secretText, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { roles } from "../shared/roles.ts";
import { ofTenant, pageOf, paging, searching, sorting } from "../shared/wire.ts";

export const userSorts = ["id", "email", "full_name", "role", "is_active", "created_at"] as const;

const head = {
  id: integer(),
  email: text(),
  full_name: text(),
  role: oneOf(roles, { name: "Role" }),
  tenant_id: integer(),
};
const tail = {
  can_see_all_patients: flag(),
  is_active: flag(),
  email_verified: flag(),
  created_at: timestamp(),
};

const userShape = object({ ...head, department_id: nullable(integer()), ...tail }, { name: "User" });
export type User = ValueOf<typeof userShape>;

export const profileShape = object(
  {
    ...head,
    department_id: nullable(integer()),
    department: nullable(object({ id: integer(), name: text() }, { name: "PublicDepartment" })),
    ...tail,
  },
  { name: "Profile" },
);
export type Profile = ValueOf<typeof profileShape>;

/** Codes of the rules that protect the caller's own account and the last administrator. */
const withdrawing = ["own_account", "last_admin", "last_superadmin"] as const;
const oneUser = {
  path: { user_id: pathId({ description: "The user's id.", example: 1 }) },
  result: userShape,
};
const administrators = allow("superadmin", "admin");

export const usersContract = {
  "users.list": {
    summary: "Lists users, page by page.",
    audits: "user.list",
    access: allow("superadmin", "admin", "head_doctor"),
    repeatable: true,
    weight: weights.list,
    query: {
      ...ofTenant,
      ...paging,
      ...searching,
      role: optional(nullable(oneOf(roles, { name: "Role", description: "Only users of this role." }))),
      is_active: optional(
        nullable(flag({ description: "Only users who may sign in, or who are blocked or wait." })),
      ),
      ...sorting(userSorts, "id", "asc"),
    },
    result: pageOf("UserPage", userShape),
  },
  "users.create": {
    summary: "Creates a user who can sign in at once.",
    audits: "user.create",
    access: administrators,
    refuses: { 403: ["role_too_high"], 409: ["email_taken"] },
    example: {
      email: "grace@clinic.example",
      password: "a long and quiet evening",
      full_name: "Grace Hopper",
      role: "doctor",
      can_see_all_patients: false,
    },
    weight: weights.hash,
    body: {
      email: email(),
      password: secretText({ min: 8, max: 128 }),
      full_name: text({ min: 1, max: 200, trim: true }),
      role: oneOf(roles, { name: "Role" }),
      tenant_id: optional(nullable(id())),
      department_id: optional(nullable(id())),
      can_see_all_patients: withDefault(flag(), false),
    },
    result: userShape,
  },
  "users.remove": {
    summary: "Deletes a user: hidden at once, purged after the retention.",
    audits: "user.delete",
    access: administrators,
    refuses: { 403: ["role_too_high"], 409: withdrawing },
    path: { user_id: pathId({ description: "The user's id.", example: 1 }) },
  },
  "users.block": {
    summary: "Blocks a user; every token of theirs is refused from the next request on.",
    audits: "user.block",
    access: administrators,
    refuses: { 403: ["role_too_high"], 409: withdrawing },
    ...oneUser,
  },
  "users.unblock": {
    summary: "Unblocks or approves a user and forgets failed sign-ins.",
    audits: "user.unblock",
    access: administrators,
    refuses: { 403: ["role_too_high"] },
    ...oneUser,
  },
  "users.set_role": {
    summary: "Gives a user another role; their present tokens end.",
    audits: "user.set_role",
    access: administrators,
    refuses: { 403: ["role_too_high"], 409: withdrawing },
    ...oneUser,
    body: { role: oneOf(roles, { name: "Role" }) },
    example: { role: "head_doctor" },
  },
  "users.me": {
    summary: "The signed-in user's own profile.",
    audits: "user.me",
    access: signedIn,
    repeatable: true,
    result: profileShape,
  },
  "users.list_deleted": {
    summary: "Users who were deleted and are not purged yet (operators, from the REPL).",
    audits: "user.list_deleted",
    ...deletedList({ tenant_id: integer(), email: text(), full_name: text(), role: text() }),
  },
  "users.restore": {
    summary: "Brings a deleted user back (operators, from the REPL).",
    audits: "user.restore",
    access: allow("superadmin"),
    refuses: { 409: ["email_taken", "not_deleted"] },
    ...oneUser,
  },
  "users.bootstrap": {
    summary: "Makes sure that a user exists, and that no earlier demo password opens it (start-up only).",
    audits: "user.create",
    access: onlyServices("start"),
    body: {
      tenant_id: id(),
      email: email(),
      password: secretText({ min: 8, max: 128 }),
      full_name: text({ min: 1, max: 200, trim: true }),
      role: oneOf(roles, { name: "Role" }),
      department_id: optional(nullable(id())),
      can_see_all_patients: withDefault(flag(), false),
      instead_of: withDefault(listOf(secretText({ max: 128 }), { max: 3 }), []),
    },
    result: object({ id: integer(), created: flag(), replaced: flag() }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Events {
    /** Published after every session of the user was revoked. */
    "users.sessions_ended": { tenant_id: number; user_id: number };
  }
  interface Actions extends ActionsOf<typeof usersContract> {}
}
