// Tenants: the clinics that use the service.
// Life cycle: created active → deactivated and reactivated → deleted (hidden at once) → purged with all its
// data after the retention, or restored by an operator until then. The audit log is kept after the purge.
// Promises: deactivating or deleting a tenant ends every session in it in the same transaction. The platform
// tenant can be neither deactivated nor deleted; the database refuses it too.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { detectors } from "../../mixins/healing/detectors.ts";
import { jobs } from "../../mixins/jobs/jobs.ts";
import { implement } from "../shared/bus/bus.ts";
import { jobFaults } from "../../mixins/healing/job-faults.ts";
import { deletedItems, type DeletedRow, deletedScope, deletedTail } from "../shared/deleted.ts";
import { findTenant, getTenant, listPublicTenants, listTenants } from "./find-tenants.ts";
import {
  bootstrapTenant,
  createTenant,
  removeTenant,
  restoreTenant,
  updateTenant,
} from "./change-tenants.ts";
import { purgeTenants } from "./purge-tenants.ts";
import { TenantEntity } from "./tenant.entity.ts";
import { tenantsContract } from "./tenants.contract.ts";
import { departmentHeadGone } from "./department-faults.ts";
import { overdueRows, purgedAfter } from "../../mixins/healing/overdue-rows.ts";

const tenants: ServiceSchema = {
  name: "tenants",
  mixins: [
    database([TenantEntity]),
    jobs({ tasks: { "tenants.purge": purgeTenants }, schedules: { "tenants.purge": "37 2 * * *" } }),
    detectors("tenants", {
      ...jobFaults("tenants"),
      department_head_gone: departmentHeadGone,
      purge_overdue: overdueRows("tenants", "tenants.purge", [
        {
          what: "tenants",
          rows: "from tenants where deleted_at < now() - make_interval(days => $1)",
          days: purgedAfter,
        },
      ]),
    }),
  ],
  actions: implement(tenantsContract, {
    "tenants.list": listTenants,
    "tenants.create": createTenant,
    "tenants.get": getTenant,
    "tenants.update": updateTenant,
    "tenants.remove": removeTenant,
    "tenants.list_deleted": async (call) =>
      deletedItems(
        await call.db.read<DeletedRow<(typeof tenantsContract)["tenants.list_deleted"]>>(deletedScope(call), {
          text: `select id, name, subdomain, deleted_at from tenants ${deletedTail}`,
          values: [],
        }),
      ),
    "tenants.restore": restoreTenant,
    "tenants.list_public": listPublicTenants,
    "tenants.find": findTenant,
    "tenants.bootstrap": bootstrapTenant,
  }),
};

export default tenants;
