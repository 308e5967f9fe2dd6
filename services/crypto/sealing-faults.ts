// Fields that do not open, and a rotation that nobody walks. Neither is mended by a program: a key that is gone is brought back
// from a backup, or the field is written anew by who knows what was in it.
import { platform } from "../shared/database/scope.ts";
import type { Detector } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";

/** Leases last seconds, and every crypto process looks once a second. */
const stalledMinutes = 5;
/** Of a rotation that goes on, but does not come to an end. */
const hoursMax = 48;

export const sealedUnreadable: Detector = {
  async find(site, { target }) {
    const rows = await site.db.read<{ tenant_id: number; fields: number; reasons: string[] }>(platform, {
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

export const rotationStalled: Detector = {
  async find(site, { target }) {
    const rows = await site.db.read<{
      id: number;
      done: string;
      total: string;
      hours: number;
      silent: number;
    }>(platform, {
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
