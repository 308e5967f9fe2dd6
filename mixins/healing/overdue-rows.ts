// Rows that a sweep should have deleted long ago. The owner of the table decides what expires when. This only checks whether rows
// are far beyond it, and starts the owner's own sweep.
import { platform } from "../../services/shared/database/scope.ts";
import { Caller } from "../../services/shared/caller.ts";
import type { FoundFault, Remedy, DetectorCall } from "./port.ts";
import { textIn } from "./targets.ts";

/** Counting stops here: a larger number says nothing more. */
const countedMax = 1_000;

export interface Overdue {
  /** The table, or a name for the rows. */
  readonly what: string;
  /** "from … where …", served by an index. $1 is a number of days if `days` is given. */
  readonly rows: string;
  readonly days?: (site: DetectorCall) => number;
}

/** The purge runs nightly; it may be missed in two nights. */
export const purgedAfter = (site: DetectorCall): number => site.runtime.config.retentionDays + 2;

/** @param task the sweep that the remedy enqueues @param kinds what to count, each by one query */
export function overdueRows(service: string, task: string, kinds: readonly Overdue[]): Remedy {
  const look = async (site: DetectorCall, { what, rows, days }: Overdue): Promise<FoundFault[]> => {
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
      const found: FoundFault[] = [];
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
