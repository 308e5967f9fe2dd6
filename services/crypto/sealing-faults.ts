// Detects fields that do not open, and rotations without progress. Neither can be healed automatically: a
// lost key is restored from a backup, or a person who knows the content writes the field again.
import { platform } from "../shared/database/scope.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

/** A lease lasts seconds, and every crypto process polls once a second. */
const stalledMinutes = 5;
/** For a rotation that progresses but does not end. */
const hoursMax = 48;

/** The detector `sealed_unreadable`; its target is `tenant:<id>`. */
export const sealedUnreadable: Detector = {
  async find(site, { target }) {
    const rows = await site.db.read<
      RowOf<"quarantined_fields", "tenant_id", { fields: number; reasons: string[] }>
    >(platform, {
      name: "crypto.unreadable",
      text: `select tenant_id, count(*)::integer as fields, array_agg(distinct reason order by reason) as reasons
        from quarantined_fields where $1::integer is null or tenant_id = $1 group by tenant_id order by tenant_id limit 100`,
      values: [target === undefined ? null : (numberIn("tenant", target) ?? 0)],
    });
    return {
      found: rows.map(({ tenant_id: tenantId, fields, reasons }) => ({
        target: `tenant:${tenantId}`,
        tenantId,
        evidence: { fields, reasons },
      })),
    };
  },
};

/** The detector `rotation_stalled`; its target is `rotation:<id>`. */
export const rotationStalled: Detector = {
  async find(site, { target }) {
    const rows = await site.db.read<
      RowOf<
        "rotations",
        "id",
        {
          done: Column<"rotations", "rows_done">;
          total: Column<"rotations", "rows_total">;
          hours: number;
          silent: number;
        }
      >
    >(platform, {
      name: "crypto.stalled_rotations",
      text: `select id, rows_done as done, rows_total as total, (extract(epoch from now() - started_at) / 3600)::integer as hours,
          greatest(0, extract(epoch from now() - leased_until))::integer as silent
        from rotations where state = 'running' and ($1::integer is null or id = $1)
          and (leased_until < now() - interval '${stalledMinutes} minutes' or started_at < now() - interval '${hoursMax} hours')`,
      values: [target === undefined ? null : (numberIn("rotation", target) ?? 0)],
    });
    return {
      found: rows.map(({ id, done, total, hours, silent }) => ({
        target: `rotation:${id}`,
        tenantId: null,
        evidence: { rows_done: Number(done), rows_total: Number(total), hours, silent_for_seconds: silent },
      })),
    };
  },
};
