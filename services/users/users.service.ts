// Users: their administration and the caller's own profile.
// Life cycle: created active by an administrator or pending by registration → blocked and unblocked → deleted
// (hidden at once) → purged after the retention, or restored by an operator until then.
// Promises: every change is one transaction with its audit entry and event. Blocking, a new role and deletion
// end every session of the user in that transaction. A tenant never loses its last active administrator.
// Does not sign in users (`auth`) or send mail (`mail`).
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { implement } from "../shared/bus/bus.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { deletedItems, type DeletedRow, deletedScope, deletedTail } from "../shared/deleted.ts";
import { changeRole, removeUser, restoreUser, setBlocked } from "./administer-user.ts";
import { bootstrapUser } from "./bootstrap-user.ts";
import { createUser } from "./create-user.ts";
import { listUsers } from "./list-users.ts";
import { purgeDeletedUsers } from "./purge-users.ts";
import { readProfile } from "./read-profile.ts";
import { UserEntity } from "./user.entity.ts";
import { usersContract } from "./users.contract.ts";
import { userCountsDiffer } from "./user-count-faults.ts";
import { overdueRows, purgedAfter } from "../../mixins/healing/overdue-rows.ts";
import { sessionIdleInTransaction } from "../../mixins/healing/session-faults.ts";

const users: ServiceSchema = {
  name: "users",
  mixins: [
    database([UserEntity]),
    jobs({ tasks: { "users.purge": purgeDeletedUsers }, schedules: { "users.purge": "17 2 * * *" } }),
    detectors("users", {
      ...jobFaults("users"),
      user_counts_differ: userCountsDiffer,
      session_idle_in_transaction: sessionIdleInTransaction,
      purge_overdue: overdueRows("users", "users.purge", [
        {
          what: "users",
          rows: "from users where deleted_at < now() - make_interval(days => $1)",
          days: purgedAfter,
        },
      ]),
    }),
  ],
  actions: implement(usersContract, {
    "users.list": listUsers,
    "users.create": createUser,
    "users.bootstrap": bootstrapUser,
    "users.remove": removeUser,
    "users.block": (call) => setBlocked(call, true),
    "users.unblock": (call) => setBlocked(call, false),
    "users.set_role": changeRole,
    "users.me": readProfile,
    "users.list_deleted": async (call) =>
      deletedItems(
        await call.db.read<DeletedRow<(typeof usersContract)["users.list_deleted"]>>(deletedScope(call), {
          text: `select id, tenant_id, email, full_name, role, deleted_at from users ${deletedTail}`,
          values: [],
        }),
      ),
    "users.restore": restoreUser,
  }),
};

export default users;
