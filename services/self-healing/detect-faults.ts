// A detection run: calls the services for the faults that are due, a few at a time, and records the results.
// A detector that does not end, or a service that does not answer, is left out and listed; the others are not
// affected.
import type { ServiceBroker } from "moleculer";
import { platform } from "../shared/database/scope.ts";
import { catalogue, type FaultCode } from "../../mixins/healing/catalogue.ts";
import type { KnownFault } from "../../mixins/healing/known-fault.ts";
import { type Finding, findingsMax } from "../../mixins/healing/port.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { DetectorCalls, type Unanswered } from "./detector-calls.ts";
import { system } from "./fix-row.ts";
import { aheadSecondsMax, deadSeconds } from "./incident.rules.ts";
import { recordDetection } from "./record-detection.ts";
import type { RowOf } from "../shared/database/row.ts";

/** What a detection run needs of its process. */
export interface DetectionContext {
  broker: ServiceBroker;
  runtime: Runtime;
}

/** The result of a detection run. */
export interface RunSummary {
  looked: number;
  found: number;
  opened: number;
  silent: string[];
  unanswered: Unanswered[];
  /** Codes for which there was no time: the next run begins with them. */
  left: string[];
}

/** A finding with the service that reported it. */
export interface ServiceFinding extends Finding {
  service: string;
}

/** The result of a detection run for one fault. */
export interface DetectionResult {
  known: KnownFault & { code: FaultCode };
  findings: ServiceFinding[];
  targets: number | null;
  cursor: string | null;
  silent: string[];
  /** Whether a service reported as many findings as it may: there may be more. */
  full: boolean;
  startedAt: number;
}

type LastRun = RowOf<"fault_looks", "cursor", { code: string; age: number; off: boolean }>;

/** Faults that are looked for concurrently, so that one detector that hangs does not delay the others. */
const concurrentMax = 4;
/** Tolerance, because a job that runs every minute does not start exactly on time. */
const earlySeconds = 20;

/**
 * Runs detectors, within the time limit whatever they do.
 * @param which the faults that are due, all faults, or one suspected fault
 */
export async function detectFaults(
  looker: DetectionContext,
  which: "due" | "all" | { code: string },
  msMax: number,
): Promise<RunSummary> {
  const calls = new DetectorCalls(looker, msMax);
  await dismissOrphans(looker.runtime);
  const lastRuns = new Map((await readLastRuns(looker.runtime)).map((row) => [row.code, row]));
  const waiting = dueOf(lastRuns, which);
  const summary: RunSummary = { looked: 0, found: 0, opened: 0, silent: [], unanswered: [], left: [] };
  const silent = new Set<string>();
  const failures: unknown[] = [];
  const worker = async () => {
    while (!calls.isOver) {
      const known = waiting.shift();
      if (known === undefined) return;
      const look = await detectFault(calls, known, lastRuns.get(known.code)?.cursor ?? null);
      try {
        // Two statements, because other workers change the sum during the await.
        const opened = await recordDetection(looker, look, calls);
        summary.opened += opened;
      } catch (error) {
        // A result that cannot be stored must not prevent the detection of other faults.
        looker.runtime.log.error({ code: known.code, err: error }, "a look could not be recorded");
        calls.failed(known.code, known.at);
        failures.push(error);
        continue;
      }
      summary.looked += 1;
      summary.found += look.findings.length;
      for (const service of look.silent) silent.add(service);
    }
  };
  await Promise.all(Array.from({ length: concurrentMax }, worker));
  // It is the database then, and the job is tried again.
  if (summary.looked === 0 && failures.length > 0) throw failures[0];
  return {
    ...summary,
    silent: [...silent].sort(),
    unanswered: calls.unanswered,
    left: waiting.map(({ code }) => code),
  };
}

/** @returns the faults to look for, the one not looked for longest first */
function dueOf(lastRuns: ReadonlyMap<string, LastRun>, which: "due" | "all" | { code: string }) {
  const age = (code: string) => {
    const seconds = lastRuns.get(code)?.age ?? Number.POSITIVE_INFINITY;
    // The database's clock was set back since that run.
    return seconds < -aheadSecondsMax ? Number.POSITIVE_INFINITY : seconds;
  };
  return catalogue
    .filter(({ code }) => lastRuns.get(code)?.off !== true)
    .filter(({ code, everyMinutes }) =>
      typeof which === "object"
        ? code === which.code
        : which === "all" || age(code) >= everyMinutes * 60 - earlySeconds,
    )
    .sort((a, b) => age(b.code) - age(a.code));
}

/** Faults whose fix was deleted are not looked for until they are seeded again. */
function readLastRuns({ database }: Runtime): Promise<LastRun[]> {
  return database.read<LastRun>(platform, {
    name: "self-healing.looks",
    text: `select coalesce(l.code, f.code) as code, l.cursor,
        coalesce(extract(epoch from now() - l.looked_at), 1e9)::float8 as age, coalesce(f.off, false) as off
      from fault_looks l full join (select code, bool_and(deleted_at is not null) as off from fixes group by code) f
        on f.code = l.code`,
    values: [],
  });
}

/** Dismisses incidents whose fix was deleted while they were being healed by a process that died. */
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

async function detectFault(
  calls: DetectorCalls,
  known: DetectionResult["known"],
  cursor: string | null,
): Promise<DetectionResult> {
  const look: DetectionResult = {
    known,
    findings: [],
    targets: null,
    cursor: null,
    silent: [],
    full: false,
    startedAt: performance.now(),
  };
  for (const service of known.at) {
    const answer = await calls.call(service, { code: known.code, ...(cursor === null ? {} : { cursor }) });
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
