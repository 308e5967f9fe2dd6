// Commands on the audit log.
import { auditContract } from "../../services/audit/audit.contract.ts";
import { optional } from "../../services/shared/params/modifiers.ts";
import { id, text } from "../../services/shared/params/rules.ts";
import { command } from "../command.ts";

const { action, page, limit } = auditContract["audit.list"].query;
const tenant = optional(id({ description: "Of this tenant alone" }));
const columns = [
  "created_at",
  "tenant_id",
  "seq",
  "action",
  "outcome",
  "user_id",
  "target_type",
  "target_id",
  "changes",
] as const;

export const auditCommands = [
  command({
    name: "audit",
    does: "Entries of the audit log, newest first",
    calls: ["audit.list"],
    fields: {
      tenant,
      action,
      user: optional(id({ description: "Only what this user did" })),
      from: optional(text({ max: 40, description: "From this moment, or the beginning of this day" })),
      to: optional(text({ max: 40, description: "Up to this moment, or the end of this day" })),
      page,
      limit,
    },
    columns,
    run: (session, { tenant: tenantId, user, from, to, ...rest }) =>
      session.call("audit.list", {
        ...rest,
        ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
        ...(user === undefined ? {} : { user_id: user }),
        ...(from === undefined ? {} : { from_date: from }),
        ...(to === undefined ? {} : { to_date: to }),
      }),
  }),
  command({
    name: "audit verify",
    does: "Proves a tenant's log from its first entry on",
    calls: ["audit.verify"],
    fields: { tenant: id({ description: "The tenant's id" }) },
    places: ["tenant"],
    failed: (answer) => !(answer as { ok: boolean }).ok,
    run: (session, params) =>
      session.askUntilReady(
        () => session.call("audit.verify", { tenant_id: params.tenant }),
        // The verification continues where it stopped.
        (error) => (error as { type?: unknown }).type === "verification_unfinished",
      ),
  }),
];
