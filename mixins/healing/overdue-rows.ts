// Rows that a sweep should have taken long ago. What dies when is the owner's to say: this only asks whether any are far
// beyond it, and has the owner's own sweep run again.
import { platform } from "../../services/shared/database/scope.ts";
import { Caller } from "../../services/shared/caller.ts";
import type { Found, Remedy, Site } from "./port.ts";
import { textIn } from "./targets.ts";

/** Beyond that the number says nothing more. */
const countedMax = 1_000;

export interface Overdue {
  /** Their table, or what they are. */
  readonly what: string;
  /** "from … where …", by an index; $1 are days, where `days` says how many. */
  readonly rows: string;
  readonly days?: (site: Site) => number;
}

/** The purge runs nightly: two nights may be missed. */
export const purgedAfter = (site: Site): number => site.runtime.config.retentionDays + 2;

export function overdueRows(service: string, task: string, kinds: readonly Overdue[]): Remedy {
  const look = async (site: Site, { what, rows, days }: Overdue): Promise<Found[]> => {
    const counted = await site.db.readOne<{ rows: number }>(platform, {
      name: `${service}.overdue_${what}`,
      text: `select count(*)::integer as rows from (select ${rows} limit ${countedMax}) overdue`,
      values: days === undefined ? [] : [days(site)],
    });
    const many = counted?.rows ?? 0;
    const evidence = { what, rows: many, at_least: many === countedMax, task };
    return many === 0 ? [] : [{ target: `rows:${what}`, tenantId: null, evidence }];
  };
  return {
    async find(site, { target }) {
      const wanted =
        target === undefined ? kinds : kinds.filter(({ what }) => what === textIn("rows", target));
      const found: Found[] = [];
      for (const kind of wanted) found.push(...(await look(site, kind)));
      return { found };
    },
    wouldDo: ({ evidence }) =>
      `Would begin ${String(evidence["task"])}, which deletes the ${String(evidence["rows"])} rows of ${String(evidence["what"])} in batches.`,
    async heal(site) {
      await site.db.write(platform, Caller.system(service), {
        text: "select add_task($1, job_key := $2)",
        values: [task, `${task}:healing`],
      });
      return { begun: task };
    },
  };
}
