// Commands on tenants.
import { tenantsContract } from "../../services/tenants/tenants.contract.ts";
import { id } from "../../services/shared/params/rules.ts";
import { command } from "../command.ts";

const tenant = id({ description: "The tenant's id" });
const { name, subdomain } = tenantsContract["tenants.create"].body;
const columns = ["id", "subdomain", "name", "is_active", "created_at"] as const;

const setActive = (word: "activate" | "deactivate", does: string) =>
  command({
    name: `tenants ${word}`,
    does,
    calls: ["tenants.update"],
    fields: { tenant },
    places: ["tenant"],
    changes: true,
    run: (session, params) =>
      session.call("tenants.update", { tenant_id: params.tenant, is_active: word === "activate" }),
  });

export const tenantCommands = [
  command({
    name: "tenants",
    does: "All tenants",
    calls: ["tenants.list"],
    fields: {},
    columns,
    async run(session) {
      const items = await session.call("tenants.list", {});
      return { items, total: items.length };
    },
  }),
  command({
    name: "tenants deleted",
    does: "Tenants that were deleted and are not purged yet, the newest 200",
    calls: ["tenants.list_deleted"],
    fields: {},
    run: (session) => session.call("tenants.list_deleted", {}),
  }),
  command({
    name: "tenants create",
    does: "Makes a tenant",
    calls: ["tenants.create"],
    fields: { subdomain, name },
    places: ["subdomain", "name"],
    changes: true,
    run: (session, params) => session.call("tenants.create", params),
  }),
  setActive("activate", "Lets a tenant's users sign in again"),
  setActive("deactivate", "Ends every session in a tenant, and lets nobody of it sign in"),
  command({
    name: "tenants delete",
    does: "Deletes a tenant with all that is in it: hidden at once, purged after the retention",
    calls: ["tenants.get", "tenants.remove"],
    fields: { tenant },
    places: ["tenant"],
    changes: true,
    destroys: "tenants.remove",
    async warning(session, params) {
      const found = await session.call("tenants.get", { tenant_id: params.tenant });
      return {
        lines: [`This deletes the tenant ${found.name} with all its users and patients.`],
        word: found.subdomain,
      };
    },
    async run(session, params) {
      await session.call("tenants.remove", { tenant_id: params.tenant });
      return { deleted: true };
    },
  }),
  command({
    name: "tenants restore",
    does: "Brings a deleted tenant back",
    calls: ["tenants.restore"],
    fields: { tenant },
    places: ["tenant"],
    changes: true,
    run: (session, params) => session.call("tenants.restore", { tenant_id: params.tenant }),
  }),
];
