// Commands on users. Passwords are never typed here: a user gets one by a link (`request-reset`), or by `call users.create`.
import { id } from "../../services/shared/params/rules.ts";
import { optional } from "../../services/shared/params/modifiers.ts";
import { usersContract } from "../../services/users/users.contract.ts";
import { command } from "../command.ts";

const user = id({ description: "The user's id" });
const ofTenant = optional(id({ description: "Of this tenant alone" }));
const { search, role, is_active: active, page, limit } = usersContract["users.list"].query;
const { role: newRole } = usersContract["users.set_role"].body;
const columns = ["id", "tenant_id", "email", "full_name", "role", "is_active", "email_verified"] as const;

export const userCommands = [
  command({
    name: "users",
    does: "Users, page by page",
    calls: ["users.list"],
    fields: { tenant: ofTenant, search, role, active, page, limit },
    columns,
    run: (session, { tenant, active: isActive, ...rest }) =>
      session.call("users.list", {
        ...rest,
        ...(tenant === undefined ? {} : { tenant_id: tenant }),
        ...(isActive === undefined ? {} : { is_active: isActive }),
      }),
  }),
  command({
    name: "users deleted",
    does: "Users who were deleted and are not purged yet, the newest 200",
    calls: ["users.list_deleted"],
    fields: { tenant: ofTenant },
    run: (session, { tenant }) =>
      session.call("users.list_deleted", tenant === undefined ? {} : { tenant_id: tenant }),
  }),
  command({
    name: "users role",
    does: "Gives a user another role; their present tokens end",
    calls: ["users.set_role"],
    fields: { user, role: newRole },
    places: ["user", "role"],
    changes: true,
    run: (session, params) => session.call("users.set_role", { user_id: params.user, role: params.role }),
  }),
  command({
    name: "users delete",
    does: "Deletes a user: hidden at once, purged after the retention",
    calls: ["users.remove"],
    fields: { user },
    places: ["user"],
    changes: true,
    destroys: "users.remove",
    warning: async (_session, params) => ({
      lines: [`This deletes the user ${params.user}.`],
      word: String(params.user),
    }),
    async run(session, params) {
      await session.call("users.remove", { user_id: params.user });
      return { deleted: true };
    },
  }),
  command({
    name: "users restore",
    does: "Brings a deleted user back",
    calls: ["users.restore"],
    fields: { user },
    places: ["user"],
    changes: true,
    run: (session, params) => session.call("users.restore", { user_id: params.user }),
  }),
  command({
    name: "block",
    does: "Blocks a user: every token of theirs is refused from the next request on",
    calls: ["users.block"],
    fields: { user },
    places: ["user"],
    changes: true,
    run: (session, params) => session.call("users.block", { user_id: params.user }),
  }),
  command({
    name: "unlock",
    does: "Unblocks or approves a user, and forgets failed sign-ins",
    calls: ["users.unblock"],
    fields: { user },
    places: ["user"],
    changes: true,
    run: (session, params) => session.call("users.unblock", { user_id: params.user }),
  }),
];
