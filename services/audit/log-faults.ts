// Detects broken chains, and logs whose verification is overdue.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Detector, Remedy } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import { checkpointTask } from "./checkpoints/run-checkpoints.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

const foundMax = 100;
/** Each log is verified once a day, a long one in several runs. */
const proofHoursMax = 50;

const proofs = {
  name: "audit.proofs",
  text: "select count(*)::integer as targets from audit_proofs",
  values: [],
};

/** The detector `audit_chain_broken`; its target is `tenant:<id>`. */
export const auditChainBroken: Detector = {
  async find(site, { target }) {
    const rows = await site.db.read<
      RowOf<
        "audit_proofs",
        "tenant_id",
        {
          seq: NonNullable<Column<"audit_proofs", "first_bad_seq">>;
          proved: Column<"audit_proofs", "proved_at">;
        }
      >
    >(platform, {
      name: "audit.broken_chains",
      text: `select tenant_id, first_bad_seq as seq, proved_at as proved from audit_proofs
        where first_bad_seq is not null and ($1::integer is null or tenant_id = $1) order by tenant_id limit ${foundMax}`,
      values: [target === undefined ? null : (numberIn("tenant", target) ?? 0)],
    });
    return {
      found: rows.map(({ tenant_id: tenantId, seq, proved }) => ({
        target: `tenant:${tenantId}`,
        tenantId,
        evidence: { first_bad_seq: Number(seq), proved_at: proved },
      })),
    };
  },
};

/** The remedy `audit_proof_overdue`; healing starts a verification. */
export const auditProofOverdue: Remedy = {
  async find(site, { target }) {
    const rows = await site.db.read<RowOf<"audit_proofs", "tenant_id", { hours: number }>>(platform, {
      name: "audit.proofs_overdue",
      text: `select tenant_id, (extract(epoch from now() - coalesce(proved_at, signed_at)) / 3600)::integer as hours
        from audit_proofs where coalesce(proved_at, signed_at) < now() - interval '${proofHoursMax} hours'
          and ($1::integer is null or tenant_id = $1) order by tenant_id limit ${foundMax}`,
      values: [target === undefined ? null : (numberIn("tenant", target) ?? 0)],
    });
    return {
      found: rows.map(({ tenant_id: tenantId, hours }) => ({
        target: `tenant:${tenantId}`,
        tenantId,
        evidence: { hours },
      })),
      targets: (await site.db.readOne<{ targets: number }>(platform, proofs))?.targets ?? 0,
    };
  },
  wouldDo: ({ evidence }) =>
    `Would begin the proof of the log, which was proved ${String(evidence["hours"])} h ago.`,
  async heal(site) {
    await site.db.write(platform, Caller.system("audit"), {
      text: "select add_task($1, job_key := $2, queue_name := $1)",
      values: [checkpointTask, `${checkpointTask}:healing`],
    });
    return { begun: checkpointTask };
  },
};
