// Looking for faults: each service is asked for those that are due, a few at a time, and what it finds is recorded. A detector
// that does not end, and a service that does not answer, are left out and named; the others are looked at all the same.
import type { ServiceBroker } from "moleculer";
import { platform } from "../shared/database/scope.ts";
import { catalogue, type FaultCode } from "../../mixins/healing/catalogue.ts";
import type { KnownFault } from "../../mixins/healing/known-fault.ts";
import { type Finding, findingsMax } from "../../mixins/healing/port.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { Asking, type Unanswered } from "./asking.ts";
import { system } from "./fix-row.ts";
import { aheadSecondsMax, deadSeconds } from "./incident.rules.ts";
import { recordLook } from "./record-look.ts";
import type { RowOf } from "../shared/database/row.ts";

export interface Looker {
  broker: ServiceBroker;
  runtime: Runtime;
}

export interface Seen {
  looked: number;
  found: number;
  opened: number;
  silent: string[];
  unanswered: Unanswered[];
  /** Codes that there was no time for: they are the first ones of the next look. */
  left: string[];
}

export interface ServiceFinding extends Finding {
  service: string;
}

/** What one look found of one fault. */
export interface Look {
  known: KnownFault & { code: FaultCode };
  findings: ServiceFinding[];
  targets: number | null;
  cursor: string | null;
  silent: string[];
  /** Whether a service found as many as it may name: there may be more. */
  full: boolean;
  startedAt: number;
}

type Last = RowOf<"fault_looks", "cursor", { code: string; age: number; off: boolean }>;

/** So many faults are looked for at a time: one detector that hangs does not hold up the others. */
const lanes = 4;
/** A clock that ticks each minute is never quite on time. */
const earlySeconds = 20;

/**
 * Ends in time whatever detectors do.
 * @param which what is due by the clock, all there is, or one fault that somebody suspects
 */
export async function lookForFaults(
  looker: Looker,
  which: "due" | "all" | { code: string },
  msMax: number,
): Promise<Seen> {
  const asking = new Asking(looker, msMax);
  await dismissOrphans(looker.runtime);
  const last = new Map((await readLooks(looker.runtime)).map((row) => [row.code, row]));
  const waiting = dueOf(last, which);
  const seen: Seen = { looked: 0, found: 0, opened: 0, silent: [], unanswered: [], left: [] };
  const silent = new Set<string>();
  const failures: unknown[] = [];
  const lane = async () => {
    while (!asking.isOver) {
      const known = waiting.shift();
      if (known === undefined) return;
      const look = await lookFor(asking, known, last.get(known.code)?.cursor ?? null);
      try {
        // Not in one line: the others add to the sum while this waits.
        const opened = await recordLook(looker, look, asking);
        seen.opened += opened;
      } catch (error) {
        // What one detector answers, and nobody can write down, keeps no other fault from being looked for.
        looker.runtime.log.error({ code: known.code, err: error }, "a look could not be recorded");
        asking.failed(known.code, known.at);
        failures.push(error);
        continue;
      }
      seen.looked += 1;
      seen.found += look.findings.length;
      for (const service of look.silent) silent.add(service);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  // It is the database then, and the job is tried again.
  if (seen.looked === 0 && failures.length > 0) throw failures[0];
  return {
    ...seen,
    silent: [...silent].sort(),
    unanswered: asking.unanswered,
    left: waiting.map(({ code }) => code),
  };
}

/** @returns the longest unseen first */
function dueOf(last: ReadonlyMap<string, Last>, which: "due" | "all" | { code: string }) {
  const age = (code: string) => {
    const seconds = last.get(code)?.age ?? Number.POSITIVE_INFINITY;
    // The database's clock went back since that look.
    return seconds < -aheadSecondsMax ? Number.POSITIVE_INFINITY : seconds;
  };
  return catalogue
    .filter(({ code }) => last.get(code)?.off !== true)
    .filter(({ code, everyMinutes }) =>
      typeof which === "object"
        ? code === which.code
        : which === "all" || age(code) >= everyMinutes * 60 - earlySeconds,
    )
    .sort((a, b) => age(b.code) - age(a.code));
}

/** Codes whose fix was deleted are not looked for until they are seeded again. */
function readLooks({ database }: Runtime): Promise<Last[]> {
  return database.read<Last>(platform, {
    name: "self-healing.looks",
    text: `select coalesce(l.code, f.code) as code, l.cursor,
        coalesce(extract(epoch from now() - l.looked_at), 1e9)::float8 as age, coalesce(f.off, false) as off
      from fault_looks l full join (select code, bool_and(deleted_at is not null) as off from fixes group by code) f
        on f.code = l.code`,
    values: [],
  });
}

/** What was being mended when its fix was deleted, and whose process died, is nobody's any more. */
async function dismissOrphans({ database }: Runtime): Promise<void> {
  await database.write(platform, system, {
    name: "self-healing.dismiss_orphans",
    text: `with dismissed as (update incidents i set status = 'dismissed', ended_at = now() from fixes f
        where f.id = i.fix_id and f.deleted_at is not null and i.ended_at is null
          and (i.status <> 'healing' or i.tried_at < now() - interval '${deadSeconds} seconds')
        returning i.id, i.fix_id, i.tenant_id)
      insert into incident_steps (incident_id, fix_id, tenant_id, step)
      select id, fix_id, tenant_id, 'dismissed' from dismissed returning incident_id`,
    values: [],
  });
}

async function lookFor(asking: Asking, known: Look["known"], cursor: string | null): Promise<Look> {
  const look: Look = {
    known,
    findings: [],
    targets: null,
    cursor: null,
    silent: [],
    full: false,
    startedAt: performance.now(),
  };
  for (const service of known.at) {
    const answer = await asking.ask(service, { code: known.code, ...(cursor === null ? {} : { cursor }) });
    if (answer === undefined) {
      look.silent.push(service);
      continue;
    }
    look.findings.push(...answer.findings.map((finding) => ({ ...finding, service })));
    if (answer.targets !== null) look.targets = (look.targets ?? 0) + answer.targets;
    look.cursor = answer.cursor;
    look.full ||= answer.findings.length >= findingsMax;
  }
  return look;
}
